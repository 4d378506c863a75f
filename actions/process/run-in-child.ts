import type { ActionEvent } from '../../protocol/action-events.ts';
import { KindlingError, toErrorReport } from '../../protocol/error.ts';
import { run } from '../../system/run.ts';
import { actionForImage, closestActionName } from '../catalog.ts';
import type { ActionContext, ActionResult, Machine } from '../contract/action.ts';
import { parseVariables } from '../contract/parameters.ts';
import { foreignAction } from '../foreign/foreign-action.ts';
import type { ContainerRequest } from '../foreign/runtime-spec.ts';
import { Resources } from '../resources/resources.ts';
import { isWaitdaemon, takeOffWaitdaemon } from '../waitdaemon/waitdaemon.ts';

export interface RunInChildRequest {
  /** Name or image of the action. */
  action: string;
  variables: Record<string, string>;
  args?: readonly string[];
  isDryRun?: boolean;
  /** For an image that is no action of ours. */
  container?: ContainerRequest;
  machine: Machine;
  signal: AbortSignal;
  emit: (event: ActionEvent) => void;
  /** Where what is taken from the machine is noted, so that a parent can undo it after a kill. */
  ledgerPath?: string;
}

/** In the child: checks the action’s variables, runs it, gives back what it took, reports the outcome as events. */
export async function runInChild(request: RunInChildRequest): Promise<ActionResult> {
  const { emit } = request;
  try {
    const { image, variables, args } = takeOffWaitdaemon({
      image: request.action,
      variables: request.variables,
      args: request.args ?? [],
    });
    const log: ActionContext['log'] = (level, message, fields) =>
      emit({ type: 'log', level, message, ...(fields ? { fields } : {}) });
    if (isWaitdaemon(image)) throw new KindlingError('KND_ACTION_VARIABLES', 'waitdaemon: IMAGE is required');
    const native = actionForImage(image);
    const action = native ?? foreignAction(image, request.container ?? {});
    const meant = native ? undefined : closestActionName(image);
    if (meant) log('warn', `${image} is no action of ours but a container image; did you mean ${meant}?`);
    const { values, unknown } = parseVariables(action.name, action.parameters, variables);
    for (const { name, suggestion } of unknown) {
      const isPassedOn = action.passesVariablesOn ?? false;
      if (isPassedOn && suggestion === undefined) continue;
      const what = isPassedOn ? `passes ${name} on to the command` : `does not know ${name}`;
      log('warn', `${action.name} ${what}${suggestion ? `; did you mean ${suggestion}?` : ''}`);
    }
    const result = await runAndGiveBack(async (resources) =>
      action.run(values, {
        machine: request.machine,
        run: (program, args, options = {}) => run(program, args, { signal: request.signal, ...options }),
        signal: request.signal,
        emit,
        log,
        resources,
        environment: variables,
        image,
        args,
        isDryRun: request.isDryRun ?? false,
      }),
    );
    emit({ type: 'result', ...result });
    return result;
  } catch (thrown) {
    emit({ type: 'error', error: toErrorReport(thrown) });
    throw thrown;
  }

  async function runAndGiveBack(
    body: (resources: Resources) => Promise<ActionResult>,
  ): Promise<ActionResult> {
    await using resources = new Resources(request.ledgerPath);
    return await body(resources);
  }
}
