import { useState } from 'preact/hooks';
import type { TemplateAnswer } from '../api/answers-of-site.ts';
import { may } from '../api/session.ts';
import { ProblemText } from '../parts/problem-text.tsx';
import { useAnswer } from '../parts/use-answer.ts';
import { plainText } from '../words/plain-text.ts';
import { TemplateForm } from './template-form.tsx';

/** One template: its text, and the form for those who may change it. */
export function OneTemplateScreen({ name }: { name: string }) {
  const { answer, problem, again } = useAnswer<{ templates: TemplateAnswer[] }>('/api/v1/templates');
  const [isOpen, setOpen] = useState(false);
  const template = answer?.templates.find((each) => each.name === name);
  return (
    <main class="page">
      <p class="back">
        <a href="/templates">← All templates</a>
      </p>
      <h1>{plainText(name, 120)}</h1>
      {problem && <ProblemText problem={problem} />}
      {answer && !template && <p>There is no such template.</p>}
      {template && (
        <>
          <p class="lead">
            {template.isBuiltIn
              ? 'It comes with Kindling. A changed text of this site is laid over it.'
              : 'It belongs to this site.'}
          </p>
          {isOpen ? (
            <TemplateForm
              name={name}
              text={template.text}
              onSaved={() => {
                setOpen(false);
                again();
              }}
            />
          ) : (
            <>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keys */}
              <section class="file" tabIndex={0} aria-label="Text of the template">
                <pre>{template.text}</pre>
              </section>
              {may('profiles:change') && (
                <button type="button" onClick={() => setOpen(true)}>
                  Change the text
                </button>
              )}
            </>
          )}
        </>
      )}
    </main>
  );
}
