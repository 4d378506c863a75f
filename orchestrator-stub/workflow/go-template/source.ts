import { fromBytes } from '../../../formats/go-text.ts';
import { KindlingError } from '../../../protocol/error.ts';

/** The text of a template, as bytes, with its name, so that every complaint can say where. */
export class Source {
  readonly name: string;
  readonly text: string;

  constructor(name: string, text: string) {
    this.name = name;
    this.text = text;
  }

  lineOf(offset: number): number {
    let line = 1;
    for (let at = this.text.indexOf('\n'); at !== -1 && at < offset; at = this.text.indexOf('\n', at + 1))
      line++;
    return line;
  }

  columnOf(offset: number): number {
    return offset - this.text.lastIndexOf('\n', offset - 1) - 1;
  }

  /** Go's parse errors name the line only. */
  parseError(offset: number, message: string): KindlingError {
    const line = this.lineOf(offset);
    return new KindlingError(
      'KND_TEMPLATE_INVALID',
      `template: ${this.name}:${line}: ${fromBytes(message)}`,
      {
        evidence: { line },
      },
    );
  }

  /** Go's execution errors name line, column and the piece that failed. */
  executionError(offset: number, piece: string, message: string, executing = this.name): KindlingError {
    const line = this.lineOf(offset);
    const at = `${this.name}:${line}:${this.columnOf(offset)}`;
    return new KindlingError(
      'KND_TEMPLATE_INVALID',
      `template: ${at}: executing "${executing}" at <${fromBytes(piece)}>: ${fromBytes(message)}`,
      { evidence: { line } },
    );
  }
}
