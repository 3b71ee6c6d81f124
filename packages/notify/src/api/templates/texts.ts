import {
  type Clock,
  canonicalLocale,
  entityTagOf,
  Problem,
  preconditionFailed,
  requireMatch,
  selectPage,
} from '@gatehouse/kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Reserved } from '../../catalog/reserved.ts'
import type { Audit } from '../../context/audit.ts'
import type { Channel } from '../../model/channel.ts'
import type { AccessControl } from '../../request/caller.ts'
import type { StoredText, TemplateKey, Templates, TextState } from '../../store/store.ts'
import { checkTemplate } from '../../templates/template.ts'
import type * as schemas from '../schemas/templates.ts'
import { orTemplateProblem } from './problem.ts'
import { formatSummary, formatText, withoutWords } from './text-record.ts'

/** What the endpoints of templates need. */
export interface TemplateContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly store: Templates
  readonly reserved: Reserved
  readonly clock: Clock
  /** The locale of users whose own is unknown. */
  readonly defaultLocale: string
}

type TextsRequest = FastifyRequest<{
  Params: Static<typeof schemas.TemplateParams>
  Querystring: Static<typeof schemas.VersionsQuery>
}>
type TextRequest<Body = unknown> = FastifyRequest<{ Params: Static<typeof schemas.TextParams>; Body: Body }>

/** GET /v1/templates: the published texts, or a summary of all of them, by template, channel and locale. */
export function listTemplates({ store, reserved, defaultLocale }: TemplateContext) {
  return async ({ query }: FastifyRequest<{ Querystring: Static<typeof schemas.TemplatesQuery> }>) => {
    const { summary = false, q = '', ...place } = query
    const name = q.toLowerCase()
    const isWanted = (text: TemplateKey) => text.templateId.toLowerCase().includes(name) && isAt(text, place)
    const isReserved = (text: TemplateKey) => reserved.hasTemplate(text.templateId)
    const texts = summary
      ? (await store.listSummaries()).filter(isWanted).map((text) => formatSummary(text, isReserved(text)))
      : (await store.listPublished())
          .filter(isWanted)
          .map((text) => formatText({ ...text, published: true }, isReserved(text)))
    const page = selectPage(texts, query, (text) => `${text.template_id}/${text.channel}/${text.locale}`)
    return { ...page, default_locale: defaultLocale }
  }
}

/** GET /v1/templates/{template_id}: every version of its texts, the highest first. */
export function listVersions({ store, reserved }: TemplateContext) {
  return async ({ params, query }: TextsRequest) => {
    const { template_id: templateId } = params
    const versions = await store.listVersions(templateId)
    if (versions.length === 0) throw new Problem(404, `There is no template ${templateId}.`)
    const isReserved = reserved.hasTemplate(templateId)
    const texts = versions.filter((text) => isAt(text, query)).map((text) => formatText(text, isReserved))
    const keyOf = ({ version, channel, locale }: (typeof texts)[number]) =>
      `${String(version).padStart(10, '0')}/${channel}/${locale}`
    const page = selectPage(texts, query, keyOf, 'descending')
    return query.summary ? { ...page, items: page.items.map(withoutWords) } : page
  }
}

/** GET /v1/templates/{template_id}/{channel}/{locale}/{version} */
export function getVersion({ store, reserved }: TemplateContext) {
  return async ({ params }: FastifyRequest<{ Params: Static<typeof schemas.VersionParams> }>) => {
    const key = parseKey(params)
    const text = (await versionsOf(store, key)).find(({ version }) => version === params.version)
    if (!text)
      throw new Problem(404, `There is no version ${params.version} of the ${key.channel} text for ${key.locale}.`)
    return formatText(text, reserved.hasTemplate(key.templateId))
  }
}

/** GET /v1/templates/{template_id}/{channel}/{locale}: the published version, or else the highest. */
export function getText({ store, reserved }: TemplateContext) {
  return async ({ params }: TextRequest, reply: FastifyReply) => {
    const versions = await versionsOf(store, parseKey(params))
    const text = versions.find(({ published }) => published) ?? versions[0]
    if (!text) throw new Problem(404, `There is no ${params.channel} text for ${params.locale} of this template.`)
    const record = formatText(text, reserved.hasTemplate(params.template_id))
    return reply.header('etag', tagOf(versions) ?? '').send(record)
  }
}

/** PUT /v1/templates/{template_id}/{channel}/{locale}: stores a new version; versions never change. */
export function updateText({ access, audit, store, reserved, clock }: TemplateContext) {
  return async (request: TextRequest<Static<typeof schemas.TextSettings>>, reply: FastifyReply) => {
    const { params, body, headers } = request
    const ifMatch = headers['if-match']
    reserved.refuseTemplate(params.template_id)
    const { publish = true, ...text } = body
    if (publish) access.refuseOldSignIn(request)
    const key = parseKey(params)
    const { variables } = orTemplateProblem(() => checkTemplate({ ...key, ...text, version: 0 }))
    const versions = await versionsOf(store, key)
    requireMatch(ifMatch, tagOf(versions))
    const before = versions.find(({ published }) => published)
    const written = { ...key, ...text, createdBy: access.callerOf(request).subject }
    await audit(request, {
      action: 'templates.save',
      target: templateTarget(key),
      ...(before ? { before: changesOf(before) } : {}),
      after: changesOf({ ...written, published: publish }),
    })
    const now = clock.now()
    const version = await store.save(written, publish, now, expectedOf(ifMatch, versions))
    if (version === undefined) throw preconditionFailed(tagOf(await versionsOf(store, key)))
    const state = { latest: version, published: publish ? version : before?.version }
    const saved = formatText({ ...written, version, published: publish, createdAt: now }, false)
    return reply.header('etag', entityTagOf(state)).send({ ...saved, variables: [...variables] })
  }
}

/** DELETE /v1/templates/{template_id}/{channel}/{locale}: takes the published version out of use. */
export function withdrawText({ audit, store, reserved }: TemplateContext) {
  return async (request: TextRequest, reply: FastifyReply) => {
    const { params } = request
    reserved.refuseTemplate(params.template_id)
    const key = parseKey(params)
    const before = await findPublished(store, key)
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
  }
}

/** POST /v1/templates/{template_id}/{channel}/{locale}/publish: puts a stored version into use, also an earlier one. */
export function publishText({ audit, store, reserved, clock }: TemplateContext) {
  return async (request: TextRequest<Static<typeof schemas.Version>>, reply: FastifyReply) => {
    const { params, body } = request
    const ifMatch = request.headers['if-match']
    reserved.refuseTemplate(params.template_id)
    const locale = canonicalLocale(params.locale) ?? params.locale
    const key = { templateId: params.template_id, channel: params.channel as Channel, locale }
    const versions = await versionsOf(store, key)
    requireMatch(ifMatch, tagOf(versions))
    const exists = versions.some(({ version }) => version === body.version)
    const before = versions.find(({ published }) => published)
    if (exists)
      await audit(request, {
        action: 'templates.publish',
        target: templateTarget(key),
        ...(before ? { before: { version: before.version } } : {}),
        after: { version: body.version },
      })
    if (!exists)
      throw new Problem(404, `There is no version ${body.version} of the ${params.channel} text for ${params.locale}.`)
    if (!(await store.publish(key, body.version, clock.now(), expectedOf(ifMatch, versions))))
      throw preconditionFailed(tagOf(await versionsOf(store, key)))
    const state = { latest: versions[0]?.version, published: body.version }
    return reply.header('etag', entityTagOf(state)).send({ version: body.version })
  }
}

/** Whether a text is of the channel and the locale that a request names. */
function isAt(
  text: TemplateKey,
  { channel, locale }: { readonly channel?: string; readonly locale?: string },
): boolean {
  return (
    (channel === undefined || text.channel === channel) &&
    (locale === undefined || text.locale === (canonicalLocale(locale) ?? locale))
  )
}

/** What the audit trail says of a version. */
function changesOf({ subject, body, html, comment, published }: Omit<StoredText, 'version'>) {
  return { subject, body, html, comment, published }
}

/** The text that a change replaces. */
async function findPublished(store: Templates, key: TemplateKey) {
  return (await versionsOf(store, key)).find(({ published }) => published)
}

type Versions = Awaited<ReturnType<Templates['listVersions']>>

/** The versions of one text, the highest first. */
async function versionsOf(store: Templates, { templateId, channel, locale }: TemplateKey): Promise<Versions> {
  return (await store.listVersions(templateId)).filter((text) => text.channel === channel && text.locale === locale)
}

function stateOf(versions: Versions): TextState | undefined {
  const [latest] = versions
  return latest && { latest: latest.version, published: versions.find(({ published }) => published)?.version }
}

/** The entity tag of a text: another one after each new version, publication and withdrawal. */
function tagOf(versions: Versions): string | undefined {
  const state = stateOf(versions)
  return state && entityTagOf(state)
}

function expectedOf(ifMatch: string | undefined, versions: Versions): TextState | undefined {
  return ifMatch === undefined ? undefined : stateOf(versions)
}

function templateTarget({ templateId, channel, locale }: TemplateKey) {
  return { type: 'template', id: `${templateId}/${channel}/${locale}` }
}

function parseKey({ template_id, channel, locale }: Static<typeof schemas.TextParams>): TemplateKey {
  const canonical = canonicalLocale(locale)
  if (!canonical) throw new Problem(400, `The locale ${locale} must be a language tag such as en or pt-BR.`)
  return { templateId: template_id, channel: channel as Channel, locale: canonical }
}
