/** Our TFTP server alone: `node server-program.ts ADDRESS FOLDER`. */
import { TftpFolder } from '../../netboot/tftp/tftp-folder.ts';
import { startTftpServer } from '../../netboot/tftp/tftp-server.ts';

const [address = '', folder = ''] = process.argv.slice(2);
await startTftpServer({ address, files: new TftpFolder(folder) });
console.log('ready');
