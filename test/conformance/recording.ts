import { renderTemplate } from '../../orchestrator-stub/workflow/go-template/render.ts';
import type { TemplateData } from '../../orchestrator-stub/workflow/go-template/values.ts';
import { type HardwareObject, hardwareData } from '../../orchestrator-stub/workflow/hardware.ts';
import { KindlingError } from '../../protocol/error.ts';

/** What Go said to a list of templates. */
export interface Recording {
  recordedWith: string;
  data: { [key: string]: TemplateData };
  /** A Hardware object of Tinkerbell, as its YAML has it. */
  hardware: HardwareObject;
  cases: RecordedCase[];
}

export interface RecordedCase {
  template: string;
  output?: string;
  /** Output that is no UTF-8, in base64. */
  bytes?: string;
  error?: string;
}

/** Where ours fails too, but in other words: the parsers of JSON, YAML and times are others. */
const OTHER_WORDS = /mustFromJson|fromYaml|mustToDate|\{\{ len nil \}\}|\bcall /;

/** What differs between Go's answer and ours; undefined where nothing does. */
export function difference(
  { template, output, bytes, error }: RecordedCase,
  recording: Omit<Recording, 'cases'>,
  { isExact }: { isExact: boolean },
): string | undefined {
  const wanted = bytes === undefined ? output : Buffer.from(bytes, 'base64').toString();
  const [ours, complaint] = answer(template, recording);
  const isSame =
    error === undefined
      ? ours === wanted
      : complaint !== undefined && (!isExact || OTHER_WORDS.test(template) || complaint === error);
  if (isSame) return undefined;
  return `${template}\n  Go:   ${JSON.stringify(wanted ?? error)}\n  ours: ${JSON.stringify(ours ?? complaint)}`;
}

function answer(
  template: string,
  { data, hardware }: Omit<Recording, 'cases'>,
): [string | undefined, string | undefined] {
  try {
    // Templates may change their data: each has its own.
    const own = { ...structuredClone(data), ...hardwareData(structuredClone(hardware)) };
    return [renderTemplate(template, own, { name: 't' }), undefined];
  } catch (thrown) {
    if (thrown instanceof KindlingError) return [undefined, thrown.message];
    throw thrown;
  }
}
