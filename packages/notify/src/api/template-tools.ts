import { type Clock, type Http, Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import type { Catalog, CatalogKeeper } from '../catalog/catalog.ts'
import type { Reserved } from '../catalog/reserved.ts'
import type { Audit } from '../context/audit.ts'
import { type Channel, channels } from '../model/channel.ts'
import { canonicalLocale, Locale } from '../model/locale.ts'
import { maskResult } from '../model/masking.ts'
import type { Content, Data } from '../model/notification.ts'
import type { AccessControl } from '../request/caller.ts'
import { type OperationId, operation } from '../request/operations.ts'
import type { Templates } from '../store/store.ts'
import { smsSegments, textOfHtml } from '../templates/message-text.ts'
import { type Compiled, checkTemplate, TemplateError } from '../templates/template.ts'
import { templateTarget } from './templates.ts'

export interface TemplateToolRoutes {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Templates
  readonly reserved: Reserved
  readonly catalog: CatalogKeeper
  readonly clock: Clock
  /** Of users whose locale isn't known. */
  readonly defaultLocale: string
  /** Sends a finished text to a user at once, past preferences, caps and log; answers what the provider said. */
  readonly testSend: (channel: Channel, userId: string, content: Content) => Promise<readonly object[]>
}

const TemplateId = Type.Object({
  template_id: Type.String({ minLength: 1, maxLength: 200, description: 'The template.' }),
})
const Place = Type.Object({
  ...TemplateId.properties,
  channel: Type.Enum([...channels], { description: 'The channel of the text.' }),
  locale: Locale,
})
const Sample = {
  channel: Type.Enum([...channels]),
  locale: Type.Optional(Type.String({ maxLength: 100, description: 'Looked up as for a user of that locale' })),
  data: Type.Object({}, { additionalProperties: true, description: 'Sample data' }),
}
const Draft = {
  subject: Type.Optional(Type.String({ maxLength: 2_000 })),
  body: Type.Optional(Type.String({ maxLength: 65_536, description: 'A draft, in place of the published text' })),
  html: Type.Optional(Type.String({ maxLength: 65_536 })),
}
const Preview = Type.Object({
  locale: Type.String(),
  subject: Type.Optional(Type.String()),
  body: Type.String(),
  html: Type.Optional(Type.String()),
  variables: Type.Array(Type.String()),
  missing: Type.Array(Type.String()),
  sms: Type.Optional(
    Type.Object(
      { encoding: Type.String(), segments: Type.Integer() },
      { description: 'Of the text as it is sent: with short links where clicks are tracked.' },
    ),
  ),
})

/** Publish and roll back, preview with sample data, and test send. */
export function templateToolEndpoints(
  http: Http,
  { access, audit, store, reserved, catalog, clock, defaultLocale, testSend }: TemplateToolRoutes,
): void {
  const about = (id: OperationId, required: 'readSettings' | 'manage' = 'manage') => ({
    tags: ['templates'],
    ...operation(id),
    security: access.security(required),
  })
  const published = async (templateId: string, channel: Channel, locale: string | undefined) => {
    const wanted = [locale, defaultLocale].filter((each) => each !== undefined)
    const current = await catalog.current()
    return orProblem(() => current.text(templateId, channel, wanted))
  }

  http.post(
    '/v1/templates/:template_id/:channel/:locale/publish',
    {
      onRequest: access.allow('manage'),
      schema: {
        ...about('templates.publish'),
        params: Place,
        body: Type.Object({ version: Type.Integer({ minimum: 1 }) }, { additionalProperties: false }),
        response: { 200: Type.Object({ version: Type.Integer() }) },
      },
    },
    async (request) => {
      const { params, body } = request
      reserved.refuseTemplate(params.template_id)
      const locale = canonicalLocale(params.locale) ?? params.locale
      const key = { templateId: params.template_id, channel: params.channel as Channel, locale }
      const texts = await store.listVersions(key.templateId)
      const mine = texts.filter((text) => text.channel === key.channel && text.locale === locale)
      const isThere = mine.some(({ version }) => version === body.version)
      const before = mine.find(({ published }) => published)
      if (isThere)
        await audit(request, {
          action: 'templates.publish',
          target: templateTarget(key),
          ...(before ? { before: { version: before.version } } : {}),
          after: { version: body.version },
        })
      if (!(isThere && (await store.publish(key, body.version, clock.now()))))
        throw new Problem(
          404,
          `There is no version ${body.version} of the ${params.channel} text for ${params.locale}.`,
        )
      return { version: body.version }
    },
  )
  http.post(
    '/v1/templates/:template_id/preview',
    {
      onRequest: access.allow('readSettings'),
      schema: {
        ...about('templates.preview', 'readSettings'),
        params: TemplateId,
        body: Type.Object({ ...Sample, ...Draft }, { additionalProperties: false }),
        response: { 200: Preview },
      },
    },
    async ({ params, body }) => {
      const { channel: name, locale, data, ...draft } = body
      const channel = name as Channel
      const text = {
        templateId: params.template_id,
        channel,
        locale: locale ?? defaultLocale,
        version: 0,
        body: '',
        ...draft,
      }
      const isDraft = draft.body !== undefined || draft.html !== undefined
      const compiled = isDraft
        ? orProblem(() => checkTemplate(text))
        : await published(params.template_id, channel, locale)
      return preview(compiled, channel, data as Data, shortenText(await catalog.current(), params.template_id)) as never
    },
  )
  http.post(
    '/v1/templates/:template_id/test',
    {
      onRequest: access.allow('manage'),
      schema: {
        ...about('templates.test'),
        params: TemplateId,
        body: Type.Object(
          { ...Sample, user_id: Type.String({ minLength: 1, maxLength: 256, description: 'The user.' }) },
          { additionalProperties: false },
        ),
        response: { 200: Type.Object({ results: Type.Array(Type.Object({}, { additionalProperties: true })) }) },
      },
    },
    async (request) => {
      const { params, body } = request
      reserved.refuseTemplate(params.template_id)
      const channel = body.channel as Channel
      const compiled = await published(params.template_id, channel, body.locale)
      const { content } = orProblem(() => compiled.render(body.data as Data))
      const { locale } = content
      const after = { template_id: params.template_id, channel, locale }
      await audit(request, { action: 'templates.test', target: { type: 'user', id: body.user_id }, after })
      const results = await testSend(channel, body.user_id, content)
      if (results.length === 0) throw new Problem(422, `The user ${body.user_id} can't be reached by ${channel}.`)
      const masks = access.masks(request, body.user_id)
      return { results: masks ? results.map((each) => maskResult({ ...each })) : results } as never
    },
  )
}

/** The text of an SMS as the event types that use the template send it: the longest, where some of them are tracked. */
function shortenText(catalog: Catalog, templateId: string): (content: Content) => string {
  const using = [...catalog.eventTypes.values()].filter((eventType) => eventType.templateId === templateId)
  const about = { userId: '', channel: 'sms', now: 0 } as const
  return (content) => {
    const texts = (using.length > 0 ? using : [{ sensitive: false }]).map(
      (eventType) => catalog.shortenLinks?.({ ...about, eventType, content }).content.body ?? content.body,
    )
    return texts.reduce((max, text) => (smsSegments(text).segments > smsSegments(max).segments ? text : max))
  }
}

function preview(compiled: Compiled, channel: Channel, data: Data, sent: (content: Content) => string) {
  const { content, missing } = orProblem(() => compiled.render(data))
  const body = content.body === '' && content.html !== undefined ? textOfHtml(content.html) : content.body
  return {
    ...content,
    body,
    variables: compiled.variables,
    missing,
    ...(channel === 'sms' ? { sms: smsSegments(sent({ ...content, body })) } : {}),
  }
}

/** 422 that tells the author what is wrong with the template. */
function orProblem<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    throw new Problem(422, `The template can't be used: ${error.message}.`)
  }
}
