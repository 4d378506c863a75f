import { z } from 'zod';
import { type ApiRoute, apiRoute } from '../../../net/server/route.ts';
import { KindlingError } from '../../../protocol/error.ts';
import type { HostTable } from '../../nodes/host-table.ts';
import { checkProfile, type Profile, ProfileSchema } from '../../nodes/profile.ts';
import { askForImage } from '../../provisioning/image-answer.ts';
import type { Provisioning } from '../../provisioning/provisioning.ts';
import { type Settings, SiteSettingsSchema } from '../../settings/site-settings.ts';
import type { DocumentTable } from '../../store/document-table.ts';
import type { Templates } from '../../workflow/templates.ts';

export interface SiteRouteParts {
  settings: Settings;
  profiles: DocumentTable<Profile>;
  provisioning: Provisioning;
  templates: Templates;
  hosts: HostTable;
  ca: () => string;
}

const flag = z.enum(['true', 'false']).default('false');
const ProfileChangeSchema = ProfileSchema.omit({ name: true });

export function siteRoutes({
  settings,
  profiles,
  provisioning,
  templates,
  hosts,
  ca,
}: SiteRouteParts): ApiRoute[] {
  return [
    apiRoute({
      method: 'GET',
      path: '/api/v1/profiles',
      access: 'person',
      tag: 'profiles',
      operationId: 'listProfiles',
      summary: 'Every profile',
      answer: z.object({ profiles: z.array(ProfileSchema) }),
      handle: async () => ({ profiles: await profiles.list() }),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/profiles/{name}',
      access: 'person',
      tag: 'profiles',
      operationId: 'getProfile',
      summary: 'One profile',
      answer: ProfileSchema,
      handle: ({ path }) => provisioning.profile(path['name'] ?? ''),
    }),
    apiRoute({
      method: 'PUT',
      path: '/api/v1/profiles/{name}',
      access: 'person',
      tag: 'profiles',
      operationId: 'putProfile',
      summary: 'Add or replace a profile; nodes already provisioned keep what they have',
      body: ProfileChangeSchema,
      query: z.object({
        force: flag.describe('Also with a template or an image that is not there'),
      }),
      answer: ProfileSchema,
      handle: async ({ path, body, query }) => {
        const checked = ProfileSchema.safeParse({ ...body, name: path['name'] });
        if (!checked.success) {
          throw new KindlingError('KND_PROFILE_INVALID', `a profile cannot be called “${path['name']}”`);
        }
        if (query.force !== 'true') await checkProfile(checked.data, (name) => templates.get(name));
        await profiles.save(checked.data.name, checked.data);
        await provisioning.catchUp(); // nodes may wait for it to be corrected
        return checked.data;
      },
    }),
    apiRoute({
      method: 'DELETE',
      path: '/api/v1/profiles/{name}',
      access: 'person',
      tag: 'profiles',
      operationId: 'deleteProfile',
      summary: 'Remove a profile that no node has',
      query: z.object({ force: flag.describe('Also one that nodes have') }),
      status: 204,
      answer: z.void(),
      handle: async ({ path, query }) => {
        const name = path['name'] ?? '';
        const users = query.force === 'true' ? 0 : await hosts.countWithProfile(name);
        if (users > 0) {
          throw new KindlingError(
            'KND_PROFILE_IN_USE',
            `${users} ${users === 1 ? 'node has' : 'nodes have'} the profile ${name}`,
          );
        }
        if (!(await profiles.delete(name)))
          throw new KindlingError('KND_PROFILE_UNKNOWN', `there is no profile ${name}`);
      },
    }),
    apiRoute({
      method: 'POST',
      path: '/api/v1/images/check',
      access: 'person',
      tag: 'profiles',
      operationId: 'checkImage',
      summary: 'Whether the server of an image has it, as seen from here',
      body: z.strictObject({ url: z.string().min(1).max(2000) }),
      answer: z.object({ isThere: z.boolean(), detail: z.string() }),
      waits: true,
      handle: ({ body }) => askForImage(body.url, ca()),
    }),
    apiRoute({
      method: 'GET',
      path: '/api/v1/site',
      access: 'person',
      tag: 'site',
      operationId: 'getSite',
      summary: 'The site’s settings',
      answer: SiteSettingsSchema,
      handle: () => settings.get(),
    }),
    apiRoute({
      method: 'PATCH',
      path: '/api/v1/site',
      access: 'person',
      tag: 'site',
      operationId: 'changeSite',
      summary: 'Change some of the site’s settings',
      body: SitePatchSchema,
      answer: SiteSettingsSchema,
      handle: async ({ body }) => {
        if (body.defaultProfile) await provisioning.profile(body.defaultProfile);
        const given = Object.entries(body).filter(([, value]) => value !== undefined);
        return settings.change(Object.fromEntries(given));
      },
    }),
  ];
}

/** Every setting may be left out, and what is left out stays as it is (no defaults). */
const SitePatchSchema = z
  .strictObject(
    Object.fromEntries(
      Object.entries(SiteSettingsSchema.shape).map(([key, field]) => [key, field.unwrap().optional()]),
    ) as {
      [K in keyof typeof SiteSettingsSchema.shape]: z.ZodOptional<
        ReturnType<(typeof SiteSettingsSchema.shape)[K]['unwrap']>
      >;
    },
  )
  .meta({ id: 'SiteSettingsChange' });
