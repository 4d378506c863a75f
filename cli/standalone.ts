import { resolve } from 'node:path';
import { type Command, Option } from 'commander';

interface TryOptions {
  disk: string;
  firmware: string;
  until?: string;
  timeout: string;
}

const allowNoLogin = new Option('--allow-no-login', 'a machine that nobody can log in to is meant');
const allowShortPassword = new Option(
  '--allow-short-password',
  'passwords of less than 8 characters are meant',
);

/** `kindling standalone`: one validated file → cloud-init → USB stick. The work is done in `standalone/`. */
export function defineStandalone(command: Command): void {
  command
    .command('validate <config>')
    .description('check a config file; prints every error with its place and ends with 2 if there is one')
    .option('--strict', 'warnings are errors')
    .addOption(allowNoLogin)
    .addOption(allowShortPassword)
    .option('--no-files', 'do not look for the image and the artifacts')
    .option('--json', 'print the findings as JSON')
    .option('--k3s-version <version>', 'the K3s version in the image')
    .action(async (file, options) =>
      (await import('../standalone/commands.ts')).validateCommand(file, options),
    );

  command
    .command('migrate <file>')
    .description('turn today’s config-file, or an EMF cluster template (JSON), into the new form')
    .option('--secret <name/key=file...>', 'text that the template takes from a secret')
    .option('-o, --out <file>', 'write to this file, which must not exist')
    .action(async (file, options) =>
      (await import('../standalone/commands.ts')).migrateCommand(file, options),
    );

  command
    .command('render <config>')
    .description('print the cloud-init that a machine gets')
    .option('--strict', 'warnings are errors')
    .addOption(allowNoLogin)
    .addOption(allowShortPassword)
    .option('--node <identity>', 'the machine of `nodes` with this serial, UUID or MAC')
    .option('--part <part>', 'user-data, meta-data or network-config', 'user-data')
    .option('-o, --out <folder>', 'write all parts into this folder: a NoCloud seed')
    .option('--parity', 'what cluster-api-k3s would make from the kubernetes section, in its form')
    .option('--endpoint <address>', 'address of the API server (parity)')
    .option('--token <token>', 'cluster token (parity); random if left out')
    .action(async (file, options) =>
      (await import('../standalone/commands.ts')).renderCommand(file, options),
    );

  command
    .command('usb <config> <target>')
    .description('write an installer stick: to a USB device, or to an image file')
    .option('--strict', 'warnings are errors')
    .addOption(allowNoLogin)
    .addOption(allowShortPassword)
    .option('--key <file>', 'Ed25519 private key (PEM) to sign with; a new one for this stick if left out')
    .option(
      '--secure-boot-key <file>',
      'private key (PEM) for Secure Boot; its certificate must be in the machines’ db',
    )
    .option('--secure-boot-certificate <file>', 'certificate (PEM) of that key')
    .option('--kernel-arguments <text>', 'further kernel arguments of the installer')
    .action(async (file, target, options) =>
      (await import('../standalone/usb/command.ts')).usbCommand(file, target, options),
    );

  command
    .command('example <folder>')
    .description('make an image (a small Debian) and a config file to begin with')
    .action(async (folder: string) =>
      (await import('./repository-program.ts')).becomeRepositoryProgram('example', [resolve(folder)]),
    );

  command
    .command('try <stick>')
    .description('start a virtual machine from the image file of a stick; Ctrl-] switches it off')
    .option('--disk <disk>', 'the disk to install to, as “npm run qemu” takes it', 'nvme:4G')
    .option('--firmware <name>', 'seabios, ovmf or ovmf-secure-boot', 'seabios')
    .option('--until <text>', 'end with success when the console says this')
    .option('--timeout <seconds>', 'with --until: give up after this long', '600')
    .action(async (stick: string, { disk, firmware, until, timeout }: TryOptions) => {
      const waiting = until === undefined ? [] : ['--until', until, '--timeout', timeout];
      const machine = ['--stick', resolve(stick), '--disk', disk, '--firmware', firmware, ...waiting];
      (await import('./repository-program.ts')).becomeRepositoryProgram('qemu', machine);
    });

  command
    .command('schema')
    .description('print the JSON Schema of the config file, for editors')
    .option('--publish', 'write it, and the reference page, to docs/reference instead')
    .action(async ({ publish }: { publish?: boolean }) => {
      const { publishedFiles, writePublishedFiles } = await import('../standalone/reference-page.ts');
      if (publish) await writePublishedFiles();
      else process.stdout.write(publishedFiles()[0]?.content ?? '');
    });
}
