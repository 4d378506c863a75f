import { useState } from 'preact/hooks';
import type { TemplateAnswer } from '../api/answers-of-site.ts';
import { may } from '../api/session.ts';
import { TextField } from '../parts/fields.tsx';
import { ListPage, Table } from '../parts/list-page.tsx';
import { navigate } from '../parts/route.ts';
import { useAnswer } from '../parts/use-answer.ts';
import { many } from '../words/amounts.ts';
import { plainText } from '../words/plain-text.ts';
import { TemplateForm } from './template-form.tsx';

/** Every workflow template, and the form for a new one. */
export function TemplatesScreen() {
  const [name, setName] = useState<string>();
  const { answer, problem } = useAnswer<{ templates: TemplateAnswer[] }>('/api/v1/templates');
  const templates = answer?.templates ?? [];
  const isTaken = templates.some((each) => each.name === name);
  return (
    <ListPage
      title="Templates"
      lead="A template is the list of actions that a machine works through."
      isLoaded={answer !== undefined}
      problem={problem}
    >
      <Table
        label="Templates"
        headings={['Name', 'From', 'Length']}
        rows={templates.map((template) => ({
          key: template.name,
          cells: [
            <a key={template.name} href={`/templates/${encodeURIComponent(template.name)}`}>
              {plainText(template.name, 120)}
            </a>,
            template.isBuiltIn ? 'Kindling' : 'this site',
            many(template.text.split('\n').length, 'line'),
          ],
        }))}
      />
      {may('profiles:change') && name === undefined && (
        <p>
          <button type="button" class="primary" onClick={() => setName('')}>
            New template
          </button>
        </p>
      )}
      {name !== undefined && (
        <>
          <TextField
            label="Name of the template"
            value={name}
            fault={isTaken ? `There is a template ${name} already.` : ''}
            onChange={setName}
          />
          <TemplateForm
            name={isTaken ? '' : name}
            text=""
            onSaved={() => navigate(`/templates/${encodeURIComponent(name)}`)}
          />
        </>
      )}
    </ListPage>
  );
}
