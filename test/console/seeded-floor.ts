import { State, WorkflowService } from '../../protocol/generated/tink-legacy_pb.js';
import { callUnary } from '../../protocol/grpc-service.ts';
import { NODE, RunningStub } from '../orchestrator-stub/running-stub.ts';
import { TWO_ACTIONS } from '../orchestrator-stub/workflow/two-actions.ts';

/** A real orchestrator with the machines that the tests of the console look at. */
export class SeededFloor implements AsyncDisposable {
  readonly running: RunningStub;

  private constructor(running: RunningStub) {
    this.running = running;
  }

  /** 1 a profile  2 a machine that has failed  3 one that only waits */
  static async start(): Promise<SeededFloor> {
    const running = await RunningStub.start({ auth: 'required' });
    const floor = new SeededFloor(running);
    await running.api('PUT', '/api/v1/templates/two', { json: { text: TWO_ACTIONS.text } });
    await running.api('PUT', '/api/v1/profiles/edge?force=true', {
      json: { imageUrl: 'http://images.test/x.raw', imageFormat: 'raw', template: 'two' },
    });
    await floor.register({
      uuid: NODE.uuid,
      serial: NODE.serialnum,
      name: 'till-101',
      autoOnboard: true,
      profile: 'edge',
      metadata: { place: 'sw2/14' },
    });
    await running.knock();
    await floor.report('stream-os-image', State.RUNNING);
    await floor.report(
      'stream-os-image',
      State.FAILED,
      'KND_IMAGE_NOT_FOUND: the image server answers 404; next: Correct the profile',
    );
    await floor.register({ serial: 'WAITS-77C0PX', name: 'till-102' });
    return floor;
  }

  get url(): string {
    return this.running.stub.urls.http;
  }

  /** The address that signs in. */
  signedIn(path = '/', token = this.running.stub.token): string {
    return `${this.url}${path}#token=${token}`;
  }

  register(json: object) {
    return this.running.api('POST', '/api/v1/nodes', { json });
  }

  /** What the agent of till-101 says of an action. */
  async report(actionName: string, actionStatus: State, message = ''): Promise<void> {
    await callUnary(
      this.running.client(),
      WorkflowService.method.reportActionStatus,
      { workflowId: `workflow-${NODE.uuid}-g1`, taskName: 'work', actionName, actionStatus, message },
      { headers: { authorization: `Bearer ${this.running.stub.token}` } },
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.running[Symbol.asyncDispose]();
  }
}
