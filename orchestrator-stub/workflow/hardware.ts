import { toBytes } from '../../formats/go-text.ts';
import { KindlingError } from '../../protocol/error.ts';
import {
  BoolPointer,
  Int,
  List,
  NilPointer,
  Struct,
  type TemplateData,
  type Value,
} from './go-template/values.ts';
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
  references: { [key: string]: TemplateData } = {},
): { [key: string]: TemplateData } {
  const spec = isObject(object.spec) ? object.spec : {};
  const at = (key: string, type: string) => typed(spec[key], type, `spec.${key}`);
  const disks: unknown[] = Array.isArray(spec['disks']) ? spec['disks'] : [];
  const devices = disks.map((disk, index) =>
    typed(isObject(disk) ? disk['device'] : disk, 'string', `spec.disks[${index}].device`),
  );
  return {
    Hardware: new Struct('workflow.templateHardwareData', [
      ['Disks', new List(devices, 'string')],
      ['Interfaces', at('interfaces', '[]Interface')],
      ['UserData', at('userData', 'string')],
      ['Metadata', at('metadata', 'HardwareMetadata')],
      ['VendorData', at('vendorData', 'string')],
    ]),
    // In Go these are structs, which are there even where nothing is in them.
    hardware: { metadata: {}, status: {}, ...object, spec: { auto: {}, ...spec } } as {
      [key: string]: TemplateData;
    },
    references,
  };
}

/** A value of YAML as the Go type has it: what is absent is the zero value. */
function typed(value: unknown, type: string, path: string): Value {
  const isAbsent = value === undefined || value === null;
  if (type.startsWith('*')) {
    const inner = type.slice(1);
    if (isAbsent) return new NilPointer(goName(inner));
    const pointed = typed(value, inner, path);
    if (typeof pointed === 'boolean') return new BoolPointer(pointed);
    return pointed instanceof Struct ? pointerTo(pointed) : pointed;
  }
  if (type.startsWith('[]')) {
    const element = type.slice(2);
    if (isAbsent) return new List([], goName(element));
    if (!Array.isArray(value)) throw wrongType(path, 'a list');
    return new List(
      value.map((each, index) => typed(each, element, `${path}[${index}]`)),
      goName(element),
    );
  }
  const fields = HARDWARE_TYPES.get(type);
  if (fields) {
    if (!isAbsent && !isObject(value)) throw wrongType(path, 'a mapping');
    const map = isObject(value) ? value : {};
    return new Struct(
      goName(type),
      fields.map(({ name, json, type: inner }) => [name, typed(map[json], inner, `${path}.${json}`)]),
      { json: new Map(fields.map(({ name, json }) => [name, json])) },
    );
  }
  switch (type) {
    case 'bool':
      if (isAbsent) return false;
      if (typeof value === 'boolean') return value;
      throw wrongType(path, 'true or false');
    case 'int64':
      if (isAbsent) return new Int(0, 'int64');
      if (typeof value === 'number' && Number.isInteger(value)) return new Int(value, 'int64');
      throw wrongType(path, 'a whole number');
    default:
      if (isAbsent) return '';
      if (typeof value === 'string') return toBytes(value);
      throw wrongType(path, 'a text');
  }
}

/** As `%T` prints it: the package of the types is called tinkerbell. */
function goName(type: string): string {
  return HARDWARE_TYPES.has(type.replace('*', '')) ? type.replace(/^(\*?)/, '$1tinkerbell.') : type;
}

function pointerTo({ name, fields, json }: Struct): Struct {
  return new Struct(name, fields, { isPointer: true, json });
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrongType(path: string, wanted: string): KindlingError {
  return new KindlingError('KND_HARDWARE_INVALID', `hardware: ${path} must be ${wanted}`);
}
