import { readFile } from 'node:fs/promises';
import { KindlingError } from '../../protocol/error.ts';
import { step } from '../../system/step.ts';
import { lookUpBeside, readValidConfig } from '../commands.ts';
import type { LoginPolicy } from '../config/rules/users.ts';
import { collectBootFiles } from './boot-files.ts';
import { buildStick } from './build-stick.ts';

export interface UsbOptions extends LoginPolicy {
  strict?: boolean;
  key?: string;
  kernelArguments?: string;
  secureBootKey?: string;
  secureBootCertificate?: string;
}

/** `kindling standalone usb`: a stick, or an image file of one, from a valid config. */
export async function usbCommand(configFile: string, target: string, options: UsbOptions): Promise<void> {
  const validation = readValidConfig(configFile, {
    strict: options.strict ?? false,
    allowNoLogin: options.allowNoLogin ?? false,
    allowShortPassword: options.allowShortPassword ?? false,
    lookUp: lookUpBeside(configFile),
  });
  const summary = await step(`stick ${target}`, async (say) =>
    buildStick({
      validation,
      configFile,
      target,
      privateKeyPem: options.key === undefined ? undefined : await readFile(options.key, 'utf8'),
      kernelArguments: options.kernelArguments,
      createdBy: 'kindling standalone usb',
      bootFiles: (kernelArguments, profile) =>
        collectBootFiles(kernelArguments, profile, { secureBoot: secureBootOf(options) }),
      say,
    }),
  );
  console.log(
    `${target}: ${Math.ceil(summary.totalBytes / 1e6)} MB written and read back; ${summary.files} file(s), ${summary.machines} machine configuration(s)`,
  );
  console.log(`stick ${summary.stickId}, signed with key ${summary.publicKey}`);
}

function secureBootOf({ secureBootKey: key, secureBootCertificate: certificate }: UsbOptions) {
  if (key === undefined && certificate === undefined) return undefined;
  if (key !== undefined && certificate !== undefined) return { key, certificate };
  throw new KindlingError('KND_USAGE', '--secure-boot-key and --secure-boot-certificate belong together');
}
