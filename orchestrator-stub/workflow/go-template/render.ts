import { fromBytes, toBytes } from '../../../formats/go-text.ts';
import type { KindlingError } from '../../../protocol/error.ts';
import { convertConstant, validate } from './arguments.ts';
import { CallError } from './errors.ts';
import { parseTemplate } from './parser.ts';
import { printValue } from './print.ts';
import type { Parameter, TemplateFunction } from './signature.ts';
import { Source } from './source.ts';
import type { Command, Operand, Pipe, Statement } from './syntax-tree.ts';
import { type Flavor, functionsOf } from './tinkerbell-functions.ts';
import {
  GoMap,
  Int,
  isTrue,
  List,
  NilPointer,
  Struct,
  type TemplateData,
  toValue,
  typeName,
  type Value,
} from './values.ts';

export interface RenderOptions {
  /** For messages: "ubuntu". */
  name: string;
  flavor?: Flavor;
}

/** One gRPC message holds 4 MB; what is larger could never be sent. */
const OUTPUT_LIMIT = 3 * 1024 * 1024;
const MAX_DEPTH = 100;

/** Renders a Go text/template with `missingkey=error`. */
export function renderTemplate(text: string, data: TemplateData, options: RenderOptions): string {
  const functions = functionsOf(options.flavor ?? 'sprig');
  const source = new Source(options.name, toBytes(text));
  const parsed = parseTemplate(source, (name) => Object.hasOwn(functions, name));
  const renderer = new Renderer(source, functions, parsed.defined);
  const dot = toValue(data);
  try {
    renderer.run(parsed.body, dot, [{ name: '$', value: dot }]);
  } catch (thrown) {
    // A map that was put into itself has no end; Go's process dies of it.
    if (!(thrown instanceof RangeError)) throw thrown;
    throw source.parseError(0, `a value is too deep or too large: ${thrown.message}`);
  }
  return fromBytes(renderer.output());
}

/** Complains about a template that could render with no values at all. */
export function checkSyntax(text: string, options: RenderOptions): void {
  const functions = functionsOf(options.flavor ?? 'sprig');
  parseTemplate(new Source(options.name, toBytes(text)), (name) => Object.hasOwn(functions, name));
}

interface Variable {
  name: string;
  value: Value;
}

/** A function, or a method of a value. */
interface Callee {
  name: string;
  called: TemplateFunction;
  offset: number;
  text: string;
}

type Signal = 'break' | 'continue' | undefined;
const NOTHING = Symbol('no piped value');
type Piped = Value | typeof NOTHING;

class Renderer {
  readonly #pieces: string[] = [];
  readonly #source: Source;
  readonly #functions: Record<string, TemplateFunction>;
  readonly #defined: Map<string, Statement[]>;
  #length = 0;
  #depth = 0;
  /** The template that runs: of `define`, or the whole. */
  #executing: string;

  constructor(
    source: Source,
    functions: Record<string, TemplateFunction>,
    defined: Map<string, Statement[]>,
  ) {
    this.#source = source;
    this.#executing = source.name;
    this.#functions = functions;
    this.#defined = defined;
  }

  output(): string {
    return this.#pieces.join('');
  }

  run(statements: readonly Statement[], dot: Value, variables: Variable[]): Signal {
    for (const statement of statements) {
      const signal = this.#statement(statement, dot, variables);
      if (signal) return signal;
    }
    return undefined;
  }

  #statement(statement: Statement, dot: Value, variables: Variable[]): Signal {
    switch (statement.kind) {
      case 'text':
        this.#write(statement.text);
        return undefined;
      case 'action': {
        const value = this.#pipe(statement.pipe, dot, variables);
        if (statement.pipe.variables.length === 0) this.#write(shown(value));
        return undefined;
      }
      case 'if':
      case 'with': {
        const visible = variables.length;
        const value = this.#pipe(statement.pipe, dot, variables);
        const inner = statement.kind === 'with' ? value : dot;
        const signal = isTrue(value)
          ? this.run(statement.body, inner, variables)
          : this.run(statement.otherwise, dot, variables);
        variables.length = visible;
        return signal;
      }
      case 'range':
        return this.#range(statement, dot, variables);
      case 'template':
        this.#call(statement, dot, variables);
        return undefined;
      default:
        return statement.kind;
    }
  }

  #range(statement: Statement & { kind: 'range' }, dot: Value, variables: Variable[]): Signal {
    const { pipe } = statement;
    const visible = variables.length;
    const entries = this.#entries(this.#pipe({ ...pipe, variables: [] }, dot, variables), pipe);
    if (entries.length === 0) return this.run(statement.otherwise, dot, variables);
    for (const [key, element] of entries) {
      const names = pipe.variables;
      const values = names.length === 2 ? [key, element] : [element];
      for (const [index, name] of names.entries())
        this.#bind(name, values[index] ?? null, pipe.isAssignment, variables);
      const signal = this.run(statement.body, element, variables);
      variables.length = visible;
      if (signal === 'break') break;
    }
    variables.length = visible;
    return undefined;
  }

  #entries(value: Value, pipe: Pipe): [Value, Value][] {
    const last = pipe.commands.at(-1) ?? pipe;
    const fail = (message: string) => this.#error(last.offset, last.text, message);
    if (value === null || value instanceof NilPointer) return [];
    if (value instanceof List) return value.items.map((item, index) => [new Int(index), item]);
    if (value instanceof GoMap) return value.sorted();
    if (value instanceof Int) {
      if (pipe.variables.length > 1)
        throw fail(`can't use ${value.value} to iterate over more than one variable`);
      if (value.value > 1_000_000n) throw fail(`range over ${value.value} takes too long`);
      return Array.from({ length: Math.max(Number(value.value), 0) }, (_unused, index) => [
        null,
        new Int(index, value.type),
      ]);
    }
    throw fail(`range can't iterate over ${printValue(value)}`);
  }

  #call(statement: Statement & { kind: 'template' }, dot: Value, variables: Variable[]): void {
    const body = this.#defined.get(statement.name);
    const fail = (message: string) =>
      this.#error(
        statement.offset,
        `{{template "${statement.name}"${statement.pipe ? ` ${statement.pipe.text}` : ''}}}`,
        message,
      );
    if (!body) throw fail(`template "${statement.name}" not defined`);
    if (++this.#depth > MAX_DEPTH) throw fail('exceeded maximum template depth (100)');
    const value = statement.pipe ? this.#pipe(statement.pipe, dot, variables) : null;
    const outer = this.#executing;
    this.#executing = fromBytes(statement.name);
    this.run(body, value, [{ name: '$', value }]);
    this.#executing = outer;
    this.#depth--;
  }

  #pipe(pipe: Pipe, dot: Value, variables: Variable[]): Value {
    let value: Piped = NOTHING;
    for (const command of pipe.commands) value = this.#command(command, dot, variables, value);
    const result = value === NOTHING ? null : value;
    for (const name of pipe.variables) this.#bind(name, result, pipe.isAssignment, variables);
    return result;
  }

  #command(command: Command, dot: Value, variables: Variable[], piped: Piped): Value {
    const [first, ...rest] = command.operands;
    if (!first) return null;
    if (first.kind === 'function') {
      const called = this.#functions[first.name];
      if (!called) throw this.#source.parseError(first.offset, `function "${first.name}" not defined`);
      return this.#invoke(command, { ...first, called }, rest, dot, variables, piped);
    }
    const method = this.#method(first, dot, variables);
    if (method) return this.#invoke(command, method, rest, dot, variables, piped);
    if (rest.length > 0 || piped !== NOTHING) {
      throw this.#error(
        command.offset,
        first.text,
        first.kind === 'fields'
          ? `${first.names.at(-1)} is not a method but has arguments`
          : `can't give argument to non-function ${first.text}`,
      );
    }
    if (first.kind === 'nil') {
      throw this.#error(command.offset, 'nil', 'nil is not a command');
    }
    return this.#operand(first, dot, variables);
  }

  #invoke(
    command: Command,
    operand: Callee,
    operands: readonly Operand[],
    dot: Value,
    variables: Variable[],
    piped: Piped,
  ): Value {
    const { name, called } = operand;
    const { parameters, rest } = called;
    const count = operands.length + (piped === NOTHING ? 0 : 1);
    const wrongCount = (wanted: string, got: number) =>
      this.#error(
        operand.offset,
        operand.text,
        `wrong number of args for ${name}: want ${wanted} got ${got}`,
      );
    if (rest === undefined && count !== parameters.length) throw wrongCount(String(parameters.length), count);
    if (count < parameters.length) throw wrongCount(`at least ${parameters.length}`, operands.length);
    // Go stops at the first operand that decides: the others may be missing keys.
    if (name === 'and' || name === 'or') {
      let value: Value = null;
      for (const each of operands) {
        value = this.#argument(each, 'value', dot, variables);
        if (isTrue(value) === (name === 'or')) return value;
      }
      return piped === NOTHING ? value : piped;
    }
    const typeAt = (index: number) => parameters[index] ?? rest ?? 'any';
    const args = operands.map((each, index) => this.#argument(each, typeAt(index), dot, variables));
    if (piped !== NOTHING) {
      const last = operands.at(-1) ?? operand;
      args.push(this.#validated(piped, typeAt(args.length), last, true));
    }
    try {
      return called.call(...args);
    } catch (thrown) {
      if (!(thrown instanceof CallError)) throw thrown;
      throw this.#error(command.offset, command.text, `error calling ${name}: ${thrown.message}`);
    }
  }

  #argument(operand: Operand, type: Parameter, dot: Value, variables: Variable[]): Value {
    if (operand.kind === 'nil' || operand.kind === 'literal' || operand.kind === 'number') {
      try {
        return convertConstant(operand, type);
      } catch (thrown) {
        if (!(thrown instanceof CallError)) throw thrown;
        throw this.#error(operand.offset, operand.text, thrown.message);
      }
    }
    return this.#validated(this.#operand(operand, dot, variables), type, operand, operand.kind === 'pipe');
  }

  #validated(
    value: Value,
    type: Parameter,
    operand: { offset: number; text: string },
    isUnwrapped: boolean,
  ): Value {
    try {
      return validate(value, type, isUnwrapped);
    } catch (thrown) {
      if (!(thrown instanceof CallError)) throw thrown;
      throw this.#error(operand.offset, operand.text, thrown.message);
    }
  }

  #operand(operand: Operand, dot: Value, variables: Variable[]): Value {
    switch (operand.kind) {
      case 'dot':
        return dot;
      case 'nil':
        return null;
      case 'literal':
        return operand.value;
      case 'number':
        return this.#argument(operand, 'any', dot, variables);
      case 'fields':
        return this.#follow(dot, operand.names, operand);
      case 'variable': {
        const variable = variables.findLast(({ name }) => name === operand.name);
        return this.#follow(variable?.value ?? null, operand.names, operand);
      }
      case 'pipe':
        return this.#follow(
          this.#pipe(operand.pipe, dot, variables),
          operand.names,
          lastOperand(operand.pipe) ?? operand,
        );
      case 'function':
        return this.#command(
          { operands: [operand], offset: operand.offset, text: operand.text },
          dot,
          variables,
          NOTHING,
        );
    }
  }

  /** The method that a chain of fields ends in, if it does. */
  #method(operand: Operand, dot: Value, variables: Variable[]): Callee | undefined {
    if (operand.kind !== 'fields' && operand.kind !== 'variable' && operand.kind !== 'pipe') return undefined;
    const name = operand.names.at(-1);
    if (name === undefined) return undefined;
    const receiver = this.#operand({ ...operand, names: operand.names.slice(0, -1) }, dot, variables);
    const called = receiver instanceof Struct ? receiver.methods[name] : undefined;
    const { offset, text } = (operand.kind === 'pipe' && lastOperand(operand.pipe)) || operand;
    return called && { name, called, offset, text };
  }

  #follow(start: Value, names: readonly string[], operand: { offset: number; text: string }): Value {
    let value = start;
    let isElement = false;
    for (const [depth, name] of names.entries()) {
      const fail = (message: string) => this.#error(operand.offset, operand.text, message);
      if (value === null) {
        throw fail(
          depth === 0
            ? `nil data; no entry for key "${name}"`
            : `nil pointer evaluating interface {}.${name}`,
        );
      }
      if (value instanceof NilPointer) throw fail(`nil pointer evaluating *${value.to}.${name}`);
      const fields: Map<string, Value> | undefined =
        value instanceof GoMap ? value.entries : value instanceof Struct ? value.fields : undefined;
      const method: TemplateFunction | undefined = value instanceof Struct ? value.methods[name] : undefined;
      if (method) {
        const wanted = method.parameters.length;
        if (wanted > 0) throw fail(`wrong number of args for ${name}: want ${wanted} got 0`);
        value = method.call();
        continue;
      }
      const found: Value | undefined = fields?.get(name);
      if (found === undefined) {
        throw fail(
          value instanceof GoMap
            ? `map has no entry for key "${name}"`
            : `can't evaluate field ${name} in type ${isElement ? 'interface {}' : typeName(value)}`,
        );
      }
      // What is taken out of a map has no other type for Go.
      isElement = value instanceof GoMap;
      value = found;
    }
    return value;
  }

  #error(offset: number, piece: string, message: string): KindlingError {
    return this.#source.executionError(offset, piece, message, this.#executing);
  }

  #bind(name: string, value: Value, isAssignment: boolean, variables: Variable[]): void {
    const existing = isAssignment ? variables.findLast((variable) => variable.name === name) : undefined;
    if (existing) existing.value = value;
    else variables.push({ name, value });
  }

  #write(text: string): void {
    this.#pieces.push(text);
    this.#length += text.length;
    if (this.#length > OUTPUT_LIMIT) {
      throw this.#source.parseError(0, `the rendered template is larger than ${OUTPUT_LIMIT} bytes`);
    }
  }
}

/** The operand that Go looked at last in a pipe: its complaints about the result name that one. */
function lastOperand({ commands }: Pipe): Operand | undefined {
  const last = commands.at(-1)?.operands.at(-1);
  return last?.kind === 'pipe' ? (lastOperand(last.pipe) ?? last) : last;
}

/** What an action prints: nothing at all is `<no value>`, in a composite it is `<nil>`. */
function shown(value: Value): string {
  if (value === null) return '<no value>';
  if (value instanceof Struct && value.isPointer && value.text === undefined)
    return printValue(value).slice(1);
  return printValue(value);
}
