import { fail } from './errors.ts';
import type { Parameter } from './signature.ts';
import type { Operand } from './syntax-tree.ts';
import { BoolPointer, GoMap, Int, List, Struct, typeName, type Value } from './values.ts';

type Constant = Operand & { kind: 'nil' | 'literal' | 'number' };

/** A constant as the parameter wants it: text/template's evalArg. */
export function convertConstant(operand: Constant, type: Parameter): Value {
  if (operand.kind === 'nil') {
    if (type === 'map[string]interface {}') return new GoMap();
    if (type === '[]interface {}') return new List([]);
    if (type === 'any' || type === 'value') return null;
    return fail(`cannot assign nil to ${type}`);
  }
  switch (type) {
    case 'string':
      return operand.kind === 'literal' && typeof operand.value === 'string'
        ? operand.value
        : fail(`expected string; found ${operand.text}`);
    case 'bool':
      return operand.kind === 'literal' && typeof operand.value === 'boolean'
        ? operand.value
        : fail(`expected bool; found ${operand.text}`);
    case 'int':
      return operand.kind === 'number' && operand.int !== undefined
        ? new Int(operand.int)
        : fail(`expected integer; found ${operand.text}`);
    case 'uint32':
      return operand.kind === 'number' && operand.int !== undefined && operand.int >= 0n
        ? new Int(operand.int, 'uint32')
        : fail(`expected unsigned integer; found ${operand.text}`);
    case 'float64':
      return operand.kind === 'number' && operand.float !== undefined
        ? operand.float
        : fail(`expected float; found ${operand.text}`);
    case 'any':
    case 'value':
      if (operand.kind === 'literal') return operand.value;
      if (operand.isFloat) return operand.float ?? 0;
      return operand.int === undefined ? fail(`${operand.text} overflows int`) : new Int(operand.int);
    default:
      return fail(`can't handle ${operand.text} for arg of type ${type}`);
  }
}

/** A value for a parameter: text/template's validateType. Nothing is converted, an int64 is no int. */
export function validate(value: Value, type: Parameter, isUnwrapped: boolean): Value {
  if (type === 'any' || type === 'value' || isOfType(value, type)) return value;
  if (value instanceof BoolPointer && type === 'bool') return value.value;
  if (value === null) {
    if (type === '[]interface {}') return isUnwrapped ? new List([]) : fail(wrongType(type, 'interface {}'));
    if (type === 'map[string]interface {}')
      return isUnwrapped ? new GoMap() : fail(wrongType(type, 'interface {}'));
    return fail(isUnwrapped ? `invalid value; expected ${type}` : wrongType(type, 'interface {}'));
  }
  return fail(wrongType(type, typeName(value)));
}

function wrongType(wanted: Parameter, got: string): string {
  return `wrong type for value; expected ${wanted}; got ${got}`;
}

function isOfType(value: Value, type: Parameter): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'bool':
      return typeof value === 'boolean';
    case 'float64':
      return typeof value === 'number';
    case 'int':
    case 'uint32':
      return value instanceof Int && value.type === type;
    case '[]interface {}':
    case 'map[string]interface {}':
      return (value instanceof List || value instanceof GoMap) && typeName(value) === type;
    default:
      return value instanceof Struct && typeName(value) === type;
  }
}
