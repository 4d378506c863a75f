import { parseTemplate } from './parser.ts';
import { Source } from './source.ts';
import type { Command, Operand, Pipe, Statement } from './syntax-tree.ts';
import { type Flavor, functionsOf } from './tinkerbell-functions.ts';
import { hasKey, isMap, isTrue, printValue, sortedKeys, type Value } from './values.ts';

export interface RenderOptions {
  /** For messages: «ubuntu». */
  name: string;
  flavor?: Flavor;
}

/** One gRPC message holds 4 MB; what is larger could never be sent. */
const OUTPUT_LIMIT = 3 * 1024 * 1024;
const MAX_DEPTH = 100;

/** Renders a Go text/template with `missingkey=error`. */
export function renderTemplate(text: string, data: Value, options: RenderOptions): string {
  const functions = functionsOf(options.flavor ?? 'sprig');
  const source = new Source(options.name, text);
  const parsed = parseTemplate(source, (name) => Object.hasOwn(functions, name));
  const renderer = new Renderer(source, functions, parsed.defined);
  renderer.run(parsed.body, data, [{ name: '$', value: data }]);
  return renderer.output;
}

/** Complains about a template that could render with no values at all. */
export function checkSyntax(text: string, options: RenderOptions): void {
  const functions = functionsOf(options.flavor ?? 'sprig');
  parseTemplate(new Source(options.name, text), (name) => Object.hasOwn(functions, name));
}

interface Variable {
  name: string;
  value: Value;
}

type Signal = 'break' | 'continue' | undefined;
const NOTHING = Symbol('no piped value');

class Renderer {
  output = '';
  readonly #source: Source;
  readonly #functions: Record<string, (...args: Value[]) => Value>;
  readonly #defined: Map<string, Statement[]>;
  #depth = 0;

  constructor(
    source: Source,
    functions: Record<string, (...args: Value[]) => Value>,
    defined: Map<string, Statement[]>,
  ) {
    this.#source = source;
    this.#functions = functions;
    this.#defined = defined;
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
        if (statement.pipe.variables.length === 0)
          this.#write(value === null || value === undefined ? '<no value>' : printValue(value));
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
        this.#range(statement, dot, variables);
        return undefined;
      case 'template':
        this.#call(statement, dot, variables);
        return undefined;
      default:
        return statement.kind;
    }
  }

  #range(statement: Statement & { kind: 'range' }, dot: Value, variables: Variable[]): void {
    const { pipe } = statement;
    const visible = variables.length;
    const entries = this.#entries(this.#pipe({ ...pipe, variables: [] }, dot, variables), pipe);
    if (entries.length === 0) this.run(statement.otherwise, dot, variables);
    for (const [key, element] of entries) {
      const names = pipe.variables;
      const values = names.length === 2 ? [key, element] : [element];
      for (const [index, name] of names.entries())
        this.#bind(name, values[index], pipe.isAssignment, variables);
      const signal = this.run(statement.body, element, variables);
      variables.length = visible;
      if (signal === 'break') break;
    }
    variables.length = visible;
  }

  #entries(value: Value, pipe: Pipe): [Value, Value][] {
    if (value === null || value === undefined) return [];
    if (Array.isArray(value)) return [...value.entries()];
    if (isMap(value)) return sortedKeys(value).map((key) => [key, value[key]]);
    if (typeof value === 'number') return Array.from({ length: value }, (_unused, index) => [index, index]);
    throw this.#source.executionError(
      pipe.offset,
      pipe.text,
      `range can't iterate over ${printValue(value)}`,
    );
  }

  #call(statement: Statement & { kind: 'template' }, dot: Value, variables: Variable[]): void {
    const body = this.#defined.get(statement.name);
    const fail = (message: string) =>
      this.#source.executionError(statement.offset, `{{template "${statement.name}"}}`, message);
    if (!body) throw fail(`template "${statement.name}" not defined`);
    if (++this.#depth > MAX_DEPTH) throw fail('exceeded maximum template depth (100)');
    const value = statement.pipe ? this.#pipe(statement.pipe, dot, variables) : null;
    this.run(body, value, [{ name: '$', value }]);
    this.#depth--;
  }

  #pipe(pipe: Pipe, dot: Value, variables: Variable[]): Value {
    let value: Value | typeof NOTHING = NOTHING;
    for (const command of pipe.commands) value = this.#command(command, dot, variables, value);
    const result = value === NOTHING ? null : value;
    for (const name of pipe.variables) this.#bind(name, result, pipe.isAssignment, variables);
    return result;
  }

  #command(command: Command, dot: Value, variables: Variable[], piped: Value | typeof NOTHING): Value {
    const [first, ...rest] = command.operands;
    if (!first) return null;
    if (first.kind === 'function') return this.#invoke(command, first.name, rest, dot, variables, piped);
    if (rest.length > 0 || piped !== NOTHING) {
      throw this.#source.executionError(
        command.offset,
        first.text,
        first.kind === 'fields'
          ? `${first.names.at(-1)} is not a method but has arguments`
          : `can't give argument to non-function ${first.text}`,
      );
    }
    if (first.kind === 'nil') {
      throw this.#source.executionError(command.offset, 'nil', 'nil is not a command');
    }
    return this.#operand(first, dot, variables);
  }

  #invoke(
    command: Command,
    name: string,
    operands: readonly Operand[],
    dot: Value,
    variables: Variable[],
    piped: Value | typeof NOTHING,
  ): Value {
    const call = this.#functions[name];
    const last = piped === NOTHING ? [] : [piped];
    // Go stops at the first operand that decides: the others may be missing keys.
    if (name === 'and' || name === 'or') {
      let value: Value = null;
      for (const operand of operands) {
        value = this.#operand(operand, dot, variables);
        if (isTrue(value) === (name === 'or')) return value;
      }
      return last.length > 0 ? last[0] : value;
    }
    const args = operands.map((operand) => this.#operand(operand, dot, variables));
    try {
      return call?.(...args, ...last);
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      throw this.#source.executionError(command.offset, command.text, `error calling ${name}: ${message}`);
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
      case 'fields':
        return this.#follow(dot, operand.names, operand);
      case 'variable': {
        const variable = variables.findLast(({ name }) => name === operand.name);
        return this.#follow(variable?.value, operand.names, operand);
      }
      case 'pipe':
        return this.#follow(this.#pipe(operand.pipe, dot, variables), operand.names, operand);
      case 'function':
        return this.#invoke(
          { operands: [operand], offset: operand.offset, text: operand.text },
          operand.name,
          [],
          dot,
          variables,
          NOTHING,
        );
    }
  }

  #follow(start: Value, names: readonly string[], operand: Operand): Value {
    let value = start;
    for (const [depth, name] of names.entries()) {
      const fail = (message: string) => this.#source.executionError(operand.offset, operand.text, message);
      if (value === null || value === undefined) {
        throw fail(
          depth === 0
            ? `nil data; no entry for key "${name}"`
            : `nil pointer evaluating interface {}.${name}`,
        );
      }
      if (!isMap(value)) throw fail(`can't evaluate field ${name} in type interface {}`);
      if (!hasKey(value, name)) throw fail(`map has no entry for key "${name}"`);
      value = value[name];
    }
    return value;
  }

  #bind(name: string, value: Value, isAssignment: boolean, variables: Variable[]): void {
    const existing = isAssignment ? variables.findLast((variable) => variable.name === name) : undefined;
    if (existing) existing.value = value;
    else variables.push({ name, value });
  }

  #write(text: string): void {
    this.output += text;
    if (this.output.length > OUTPUT_LIMIT) {
      throw this.#source.parseError(0, `the rendered template is larger than ${OUTPUT_LIMIT} bytes`);
    }
  }
}
