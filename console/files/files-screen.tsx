import { ListPage, Table } from '../parts/list-page.tsx';
import { Ago } from '../parts/since.tsx';
import { useAnswer } from '../parts/use-answer.ts';
import { bytes } from '../words/amounts.ts';
import { plainText } from '../words/plain-text.ts';

interface ServedFile {
  path: string;
  bytes: number;
  modifiedAt: string;
}

interface FilesAnswer {
  boot: ServedFile[];
  mirrored: ServedFile[];
}

/** What the server has for machines: what they boot, and what was mirrored for sites without a way out. */
export function FilesScreen() {
  const { answer, problem } = useAnswer<FilesAnswer>('/api/v1/files');
  return (
    <ListPage
      title="Files"
      lead="What this server hands to machines. kindling build makes boot files, kindling mirror brings images."
      isLoaded={answer !== undefined}
      problem={problem}
    >
      <Files title="Boot files" prefix="/tink-stack/" none="No boot file yet." files={answer?.boot ?? []} />
      <Files
        title="Mirrored files"
        prefix="/files-edge-orch/"
        none="No mirrored file yet."
        files={answer?.mirrored ?? []}
      />
    </ListPage>
  );
}

interface FilesProps {
  title: string;
  prefix: string;
  none: string;
  files: readonly ServedFile[];
}

function Files({ title, prefix, none, files }: FilesProps) {
  return (
    <>
      <h2>{title}</h2>
      {files.length === 0 ? (
        <p>{none}</p>
      ) : (
        <Table
          label={title}
          headings={['Address', 'Size', 'Changed']}
          rows={files.map((file) => ({
            key: file.path,
            cells: [
              plainText(prefix + file.path, 300),
              bytes(file.bytes),
              <Ago key="changed" at={file.modifiedAt} />,
            ],
          }))}
        />
      )}
    </>
  );
}
