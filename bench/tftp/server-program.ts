/** Our TFTP server alone: `node server-program.ts ADDRESS FOLDER`. */
import { TftpFolder } from '../../orchestrator-stub/pxe/tftp-folder.ts';
import { startTftpServer } from '../../orchestrator-stub/pxe/tftp-server.ts';

const [address = '', folder = ''] = process.argv.slice(2);
await startTftpServer({ address, files: new TftpFolder(folder) });
console.log('ready');
