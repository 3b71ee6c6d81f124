import { type Clock, type Http, Problem } from '@gatehouse/kit'
import { type Static, Type } from 'typebox'
import type { Reserved } from '../catalog/reserved.ts'
import type { Audit } from '../context/audit.ts'
import { type Channel, channels } from '../model/channel.ts'
import { canonicalLocale, Locale } from '../model/locale.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { TemplateKey, Templates } from '../store/store.ts'
import { checkTemplate, TemplateError, type TemplateText } from '../templates/template.ts'

const TemplateId = Type.String({ minLength: 1, maxLength: 200, description: 'The template.' })

const TextSettings = Type.Object(
  {
    subject: Type.Optional(
      Type.String({ maxLength: 2_000, description: 'Liquid; of an email, a push or an in-app message' }),
    ),
    body: Type.String({ maxLength: 65_536, description: 'Liquid' }),
    html: Type.Optional(
      Type.String({ maxLength: 65_536, description: 'Liquid; the HTML of an email, beside its text' }),
    ),
    publish: Type.Optional(Type.Boolean({ default: true, description: 'Whether this version is used at once' })),
  },
  { title: 'TemplateTextSettings', additionalProperties: false },
)

const TextRecord = Type.Object(
  {
    template_id: Type.String(),
    channel: Type.String(),
    locale: Type.String(),
    version: Type.Integer(),
    subject: Type.Optional(Type.String()),
    body: Type.String(),
    html: Type.Optional(Type.String()),
    published: Type.Boolean(),
    variables: Type.Optional(Type.Array(Type.String())),
  },
  { title: 'TemplateText' },
)

const Place = Type.Object({
  template_id: TemplateId,
  channel: Type.Enum([...channels], { description: 'The channel of the text.' }),
  locale: Locale,
})

export interface TemplateRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Templates
  readonly reserved: Reserved
  readonly clock: Clock
}

/** The management of templates: texts by template, channel and locale, in versions that never change. */
export function templateEndpoints(http: Http, { access, audit, store, reserved, clock }: TemplateRoutes): void {
  const about = (id: OperationId, required: 'readSettings' | 'manage' = 'manage') => ({
    tags: ['templates'],
    ...operation(id),
    security: access.security(required),
  })
  /** The text that a change takes the place of. */
  const publishedAt = async ({ templateId, channel, locale }: TemplateKey) =>
    (await store.listVersions(templateId)).find(
      (text) => text.published && text.channel === channel && text.locale === locale,
    )
  const List = Type.Object({ templates: Type.Array(TextRecord) })

  http.get(
    '/v1/templates',
    {
      onRequest: access.allow('readSettings'),
      schema: { ...about('templates.list', 'readSettings'), response: { 200: List } },
    },
    async () => ({ templates: (await store.listPublished()).map((text) => formatTemplate(text, true)) }),
  )
  http.get(
    '/v1/templates/:template_id',
    {
      onRequest: access.allow('readSettings'),
      schema: {
        ...about('templates.get', 'readSettings'),
        params: Type.Object({ template_id: TemplateId }),
        response: { 200: List },
      },
    },
    async ({ params }) => {
      const versions = await store.listVersions(params.template_id)
      if (versions.length === 0) throw new Problem(404, `There is no template ${params.template_id}.`)
      return { templates: versions.map(({ published, ...text }) => formatTemplate(text, published)) }
    },
  )
  http.put(
    '/v1/templates/:template_id/:channel/:locale',
    {
      onRequest: access.allow('manage'),
      schema: {
        ...about('templates.update'),
        params: Place,
        body: TextSettings,
        response: { 200: TextRecord },
      },
    },
    async (request) => {
      const { params, body } = request
      reserved.refuseTemplate(params.template_id)
      const { publish = true, ...text } = body as Static<typeof TextSettings>
      const key = keyOf(params)
      const variables = checkedVariables({ ...key, ...text, version: 0 })
      const before = await publishedAt(key)
      await audit(request, {
        action: 'templates.save',
        target: templateTarget(key),
        ...(before ? { before: formatTemplate(before, true) } : {}),
        after: { ...formatTemplate({ ...key, ...text, version: 0 }, publish), version: undefined },
      })
      const version = await store.save({ ...key, ...text }, publish, clock.now())
      return { ...formatTemplate({ ...key, ...text, version }, publish), variables: [...variables] }
    },
  )
  http.delete(
    '/v1/templates/:template_id/:channel/:locale',
    {
      onRequest: access.allow('manage'),
      schema: { ...about('templates.delete'), params: Place, response: { 204: Type.Null() } },
    },
    async (request, reply) => {
      const { params } = request
      reserved.refuseTemplate(params.template_id)
      const key = keyOf(params)
      const before = await publishedAt(key)
      if (before)
        await audit(request, {
          action: 'templates.withdraw',
          target: templateTarget(key),
          before: { version: before.version, published: true },
          after: { version: before.version, published: false },
        })
      if (!(before && (await store.withdraw(key))))
        throw new Problem(
          404,
          `The template ${params.template_id} has no published ${params.channel} text for ${params.locale}.`,
        )
      return reply.code(204).send(null)
    },
  )
}

/** A text in the audit trail. */
export function templateTarget({ templateId, channel, locale }: TemplateKey) {
  return { type: 'template', id: `${templateId}/${channel}/${locale}` }
}

function keyOf({ template_id, channel, locale }: { template_id: string; channel: string; locale: string }) {
  const canonical = canonicalLocale(locale)
  if (!canonical) throw new Problem(400, `The locale ${locale} must be a language tag such as en or pt-BR.`)
  return { templateId: template_id, channel: channel as Channel, locale: canonical }
}

/** The variables of a text; 422 that says what is wrong for one that does not parse. */
function checkedVariables(text: TemplateText): readonly string[] {
  try {
    return checkTemplate(text).variables
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw new Problem(422, `The template can't be used: ${error.message}.`)
  }
}

function formatTemplate({ templateId, ...text }: TemplateText, published: boolean) {
  return { template_id: templateId, ...text, published }
}
