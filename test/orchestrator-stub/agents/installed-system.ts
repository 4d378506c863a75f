import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';

const run = promisify(execFile);

interface CloudConfig {
  write_files: { path: string; permissions: string; content: string }[];
  runcmd: string[][];
}

/** A folder as the root of a system that cloud-init has configured, with programs that stand in for the machine's. */
export class InstalledSystem implements AsyncDisposable {
  readonly root: string;
  readonly config: CloudConfig;

  private constructor(root: string, config: CloudConfig) {
    this.root = root;
    this.config = config;
  }

  static async of(cloudInit: string): Promise<InstalledSystem> {
    const root = await mkdtemp(path.join(tmpdir(), 'installed-system-'));
    const system = new InstalledSystem(root, parse(cloudInit) as CloudConfig);
    for (const file of system.config.write_files)
      await system.write(file.path, file.content, file.permissions);
    await system.program('cloud-init', 'echo status: done');
    await system.program('id', 'exit 1');
    return system;
  }

  at(file: string): string {
    return path.join(this.root, file);
  }

  async write(file: string, content: string, permissions = '0644'): Promise<void> {
    await mkdir(path.dirname(this.at(file)), { recursive: true });
    await writeFile(this.at(file), content);
    await chmod(this.at(file), Number.parseInt(permissions, 8));
  }

  async program(name: string, body: string): Promise<void> {
    await this.write(`/bin/${name}`, `#!/bin/sh\n${body}\n`, '0755');
  }

  remove(file: string): Promise<void> {
    return rm(this.at(file));
  }

  /** Runs one of its scripts with every path that the script may touch moved below the root. */
  async start(file: string): Promise<{ code: number; stderr: string }> {
    const script = this.config.write_files.find((each) => each.path === file)?.content ?? 'exit 127';
    const moved = script.replaceAll(/(?<![\w/.-])\/(etc|opt|run|home|sys\/firmware)\//g, `${this.root}/$1/`);
    return this.run('sh', ['-c', moved]);
  }

  async run(program: string, options: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const env = { PATH: `${this.at('bin')}:/usr/bin:/bin` };
    try {
      return { code: 0, ...(await run(program, options, { env })) };
    } catch (thrown) {
      const { code, stdout, stderr } = thrown as { code: number; stdout: string; stderr: string };
      return { code, stdout, stderr };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.root, { recursive: true });
  }
}
