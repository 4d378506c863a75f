import { KindlingError } from '../../protocol/error.ts';
import type { Value } from './go-template/values.ts';
import { HARDWARE_TYPES } from './hardware-types.ts';

/** A Hardware object as Tinkerbell's YAML has it; only what templates can see is looked at. */
export interface HardwareObject {
  spec?: Json | undefined;
  [key: string]: unknown;
}

interface Json {
  [key: string]: unknown;
}

/**
 * What a template may say of the hardware: `.Hardware` with the names of Go, `.hardware` as the object stands in YAML, and
 * `.references`, which are given as they are: there is no cluster to read them from.
 */
export function hardwareData(
  object: HardwareObject,
  references: { [key: string]: Value } = {},
): { [key: string]: Value } {
  const spec = isObject(object.spec) ? object.spec : {};
  const at = (key: string, type: string) => typed(spec[key], type, `spec.${key}`);
  const disks = Array.isArray(spec['disks']) ? spec['disks'] : [];
  return {
    Hardware: {
      Disks: disks.map((disk, index) =>
        typed(isObject(disk) ? disk['device'] : disk, 'string', `spec.disks[${index}].device`),
      ),
      Interfaces: at('interfaces', '[]Interface'),
      UserData: at('userData', 'string'),
      Metadata: at('metadata', 'HardwareMetadata'),
      VendorData: at('vendorData', 'string'),
    },
    hardware: object as { [key: string]: Value },
    references,
  };
}

/** A value of YAML as the Go type has it: what is absent is the zero value. */
function typed(value: unknown, type: string, path: string): Value {
  const isAbsent = value === undefined || value === null;
  if (type.startsWith('*')) return isAbsent ? null : typed(value, type.slice(1), path);
  if (type.startsWith('[]')) {
    if (isAbsent) return [];
    if (!Array.isArray(value)) throw wrongType(path, 'a list');
    return value.map((each, index) => typed(each, type.slice(2), `${path}[${index}]`));
  }
  const fields = HARDWARE_TYPES.get(type);
  if (fields) {
    if (!isAbsent && !isObject(value)) throw wrongType(path, 'a mapping');
    const map = isObject(value) ? value : {};
    return Object.fromEntries(
      fields.map(({ name, json, type: inner }) => [name, typed(map[json], inner, `${path}.${json}`)]),
    );
  }
  switch (type) {
    case 'bool':
      if (isAbsent) return false;
      if (typeof value === 'boolean') return value;
      throw wrongType(path, 'true or false');
    case 'int64':
      if (isAbsent) return 0;
      if (typeof value === 'number' && Number.isInteger(value)) return value;
      throw wrongType(path, 'a whole number');
    default:
      if (isAbsent) return '';
      if (typeof value === 'string') return value;
      throw wrongType(path, 'a text');
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrongType(path: string, wanted: string): KindlingError {
  return new KindlingError('KND_HARDWARE_INVALID', `hardware: ${path} must be ${wanted}`);
}
