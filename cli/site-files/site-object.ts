import { parseAllDocuments } from 'yaml';
import {
  type Heading,
  nameOfMachine,
  readMachineList,
} from '../../orchestrator-stub/imports/machine-list.ts';
import { ProfileSchema } from '../../orchestrator-stub/nodes/profile.ts';
import {
  type EnrollmentRule,
  EnrollmentRuleSchema,
} from '../../orchestrator-stub/settings/enrollment-rules.ts';
import { KindlingError } from '../../protocol/error.ts';

/** The version that our own objects name; Tinkerbell's name `tinkerbell.org/v1alpha1`. */
export const OWN_VERSION = 'kindling/v1';
const TINKERBELL_VERSION = /^tinkerbell\.org\//;

/** What is wanted of one thing of the site. The body is what the HTTP API takes. */
export type SiteObject =
  | { kind: 'Template'; name: string; body: { text: string } }
  | { kind: 'Profile'; name: string; body: Json }
  | { kind: 'Site'; name: 'site'; body: Json }
  | { kind: 'WorkflowRuleSet'; name: string; body: EnrollmentRule }
  | { kind: 'Node'; name: string; body: Json }
  | { kind: 'Workflow'; name: string; body: Json & { node: string; template: string } };

export interface Json {
  [key: string]: unknown;
}

export interface SiteFile {
  objects: SiteObject[];
  /** Hardware objects by name: workflows of any file refer to them. */
  hardware: Map<string, Json>;
  /** What was understood and is not used here. */
  notes: string[];
}

/** Reads a file of objects: YAML or JSON documents, or EMF's CSV of machines. */
export function readSiteFile(file: string, text: string): SiteFile {
  if (file.endsWith('.csv')) return readCsv(file, text);
  const read: SiteFile = { objects: [], hardware: new Map(), notes: [] };
  const parsed = parseAllDocuments(text, { version: '1.1', merge: true, logLevel: 'error' });
  for (const document of Array.isArray(parsed) ? parsed : []) {
    const [wrong] = document.errors;
    if (wrong) throw invalid(file, wrong.message.split('\n')[0] ?? 'not YAML');
    const value: unknown = document.toJS({ maxAliasCount: 1000 });
    if (value !== null && value !== undefined) addObject(file, value, read);
  }
  return read;
}

/** Columns of EMF that are set by the profile here. Only the server can compare them with it. */
const COLUMNS_OF_PROFILE: readonly Heading[] = ['RemoteUser', 'LVMSize', 'CloudInitMeta'];

function readCsv(file: string, text: string): SiteFile {
  const { machines } = readMachineList(text);
  for (const { line, faults, cell } of machines) {
    const [fault] = faults;
    if (fault) throw invalid(file, `line ${line}: ${faults.map(({ message }) => message).join('; ')}`);
    const column = COLUMNS_OF_PROFILE.find((heading) => cell(heading) !== '');
    if (column) {
      throw invalid(
        file,
        `line ${line}: ${column} is set by the profile; use kindling node import, which compares the two, or empty the cell`,
      );
    }
  }
  return {
    objects: machines.map((machine) => {
      const { cell, metadata } = machine;
      const said = {
        serial: cell('Serial'),
        uuid: cell('UUID'),
        mac: cell('MAC'),
        profile: cell('OSProfile'),
        site: cell('Site'),
        ekHash: cell('EKHash'),
      };
      const given = Object.entries(said).filter(([, value]) => value !== '');
      const body = { ...Object.fromEntries(given), metadata, autoOnboard: true };
      return { kind: 'Node', name: nameOfMachine(machine), body };
    }),
    hardware: new Map(),
    notes: [],
  };
}

function addObject(file: string, value: unknown, read: SiteFile): void {
  if (!isObject(value)) throw invalid(file, 'a document is not an object');
  const { apiVersion, kind } = value;
  if (
    kind === 'List' ||
    (typeof kind === 'string' && kind.endsWith('List') && Array.isArray(value['items']))
  ) {
    const items: unknown[] = Array.isArray(value['items']) ? value['items'] : [];
    for (const item of items) addObject(file, item, read);
    return;
  }
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  const spec = isObject(value['spec']) ? value['spec'] : {};
  const name = typeof metadata['name'] === 'string' ? metadata['name'] : '';
  const what = `${file}: ${String(kind)} ${name}`;
  const known =
    apiVersion === OWN_VERSION
      ? OWN_KINDS[String(kind)]
      : TINKERBELL_VERSION.test(String(apiVersion))
        ? TINKERBELL_KINDS[String(kind)]
        : undefined;
  if (!known) {
    if (apiVersion === OWN_VERSION) throw invalid(file, `there is no kind ${String(kind)}`);
    read.notes.push(`${what} (${String(apiVersion)}) is not used here`);
    return;
  }
  if (!name && kind !== 'Site') throw invalid(file, `a ${String(kind)} has no metadata.name`);
  known({ name, metadata, spec, what, read, whole: value });
}

interface Parts {
  name: string;
  metadata: Json;
  spec: Json;
  /** For messages: file, kind and name. */
  what: string;
  read: SiteFile;
  whole: Json;
}

const OWN_KINDS: Record<string, (parts: Parts) => void> = {
  Profile: ({ name, spec, what, read }) => {
    const { name: _name, ...body } = checked(ProfileSchema.safeParse({ ...spec, name }), what);
    read.objects.push({ kind: 'Profile', name, body });
  },
  Site: ({ spec, read }) => {
    read.objects.push({ kind: 'Site', name: 'site', body: spec });
  },
  Node: ({ name, metadata, spec, read }) => {
    read.objects.push({ kind: 'Node', name, body: { metadata: labelsOf(metadata), ...spec } });
  },
};

const TINKERBELL_KINDS: Record<string, (parts: Parts) => void> = {
  Template: ({ name, spec, what, read }) => {
    if (typeof spec['data'] !== 'string') throw invalid(what, 'spec.data must be a text');
    read.objects.push({ kind: 'Template', name, body: { text: spec['data'] } });
  },
  Hardware: ({ name, metadata, spec, what, read, whole }) => {
    read.hardware.set(name, whole);
    const auto = isObject(spec['auto']) ? spec['auto'] : {};
    const mac = macOf(spec);
    if (mac === undefined) throw invalid(what, 'no interface has a MAC (spec.interfaces[].dhcp.mac)');
    const mayEnroll = auto['enrollmentEnabled'] === true;
    const body = { mac, metadata: labelsOf(metadata), autoOnboard: true, mayEnroll };
    read.objects.push({ kind: 'Node', name, body });
  },
  WorkflowRuleSet: ({ name, spec, what, read }) => {
    const workflow = isObject(spec['workflow']) ? spec['workflow'] : {};
    const template = isObject(workflow['template']) ? workflow['template'] : {};
    const body = checked(
      EnrollmentRuleSchema.safeParse({
        name,
        rules: spec['rules'],
        template: template['ref'],
        ...(template['agentValue'] ? { agentValue: template['agentValue'] } : {}),
        ...(template['kvs'] ? { values: template['kvs'] } : {}),
        isDisabled: workflow['disabled'] === true,
      }),
      what,
    );
    read.objects.push({ kind: 'WorkflowRuleSet', name, body });
  },
  Workflow: ({ name, spec, what, read }) => {
    const { templateRef, hardwareRef, hardwareMap } = spec;
    const values: Json = isObject(hardwareMap) ? hardwareMap : {};
    const node = typeof hardwareRef === 'string' && hardwareRef ? hardwareRef : values['device_1'];
    if (typeof templateRef !== 'string') throw invalid(what, 'spec.templateRef must be a text');
    if (typeof node !== 'string')
      throw invalid(what, 'it names no machine: spec.hardwareRef, or hardwareMap.device_1');
    if (isObject(spec['bootOptions'])) read.notes.push(`${what}: bootOptions are not used here`);
    const body = { node, template: templateRef, variables: values, isPaused: spec['disabled'] === true };
    read.objects.push({ kind: 'Workflow', name, body });
  },
};

/** The MAC that names the machine: the first that may boot from the network, else the first. */
function macOf(spec: Json): string | undefined {
  const interfaces: unknown[] = Array.isArray(spec['interfaces']) ? spec['interfaces'] : [];
  const cards = interfaces.filter(isObject).flatMap(({ dhcp, netboot }) => {
    const mac = isObject(dhcp) ? dhcp['mac'] : undefined;
    return typeof mac === 'string' ? [{ mac, boots: isObject(netboot) && netboot['allowPXE'] === true }] : [];
  });
  return (cards.find(({ boots }) => boots) ?? cards[0])?.mac;
}

function labelsOf(metadata: Json): Record<string, string> {
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {};
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]));
}

function checked<T>(
  result:
    | { success: true; data: T }
    | { success: false; error: { issues: { path: PropertyKey[]; message: string }[] } },
  what: string,
): T {
  if (result.success) return result.data;
  const [first] = result.error.issues;
  throw invalid(what, `${first?.path.join('.') ?? ''}: ${first?.message ?? ''}`);
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(what: string, why: string): KindlingError {
  return new KindlingError('KND_SITE_FILE_INVALID', `${what}: ${why}`);
}
