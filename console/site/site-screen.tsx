import { may } from '../api/session.ts';
import { ListPage } from '../parts/list-page.tsx';
import { useAnswer } from '../parts/use-answer.ts';
import { type SettingSchema, SiteForm } from './site-form.tsx';

interface ApiDocument {
  components: { schemas: { SiteSettings?: { properties: Record<string, SettingSchema> } } };
}

/**
 * The site's settings. Which there are, what they mean and which values they take is in the document of the API: a setting that
 * is added there is here, too.
 */
export function SiteScreen() {
  const site = useAnswer<Record<string, unknown>>('/api/v1/site');
  const api = useAnswer<ApiDocument>('/api/v1/openapi.json');
  const schemas = api.answer?.components.schemas.SiteSettings?.properties;
  return (
    <ListPage
      title="Site"
      lead="What holds for every machine of the site."
      isLoaded={site.answer !== undefined && schemas !== undefined}
      problem={site.problem ?? api.problem}
    >
      {site.answer && schemas && (
        <SiteForm
          key={JSON.stringify(site.answer)}
          settings={site.answer}
          schemas={schemas}
          isReadOnly={!may('site:change')}
          onSaved={site.again}
        />
      )}
    </ListPage>
  );
}
