import {
  type Clock,
  entityTagOf,
  type PageRequest,
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
import { canonicalLocale } from '../../model/locale.ts'
import type { TemplateKey, Templates, TextState } from '../../store/store.ts'
import { checkTemplate, type TemplateText } from '../../templates/template.ts'
import type * as schemas from '../schemas/templates.ts'
import { orTemplateProblem } from './problem.ts'

/** What the endpoints of templates need. */
export interface TemplateContext {
  readonly audit: Audit
  readonly store: Templates
  readonly reserved: Reserved
  readonly clock: Clock
}

type TextsRequest = FastifyRequest<{ Params: Static<typeof schemas.TemplateParams>; Querystring: PageRequest }>
type TextRequest<Body = unknown> = FastifyRequest<{ Params: Static<typeof schemas.TextParams>; Body: Body }>

/** GET /v1/templates: the published texts, by template, channel and locale. */
export function listTemplates({ store }: TemplateContext) {
  return async ({ query }: FastifyRequest<{ Querystring: PageRequest }>) => {
    const texts = (await store.listPublished()).map((text) => formatText(text, true))
    return selectPage(texts, query, (text) => `${text.template_id}/${text.channel}/${text.locale}`)
  }
}

/** GET /v1/templates/{template_id}: every version of its texts, the highest first. */
export function listVersions({ store }: TemplateContext) {
  return async ({ params, query }: TextsRequest) => {
    const versions = await store.listVersions(params.template_id)
    if (versions.length === 0) throw new Problem(404, `There is no template ${params.template_id}.`)
    const texts = versions.map(({ published, ...text }) => formatText(text, published))
    const keyOf = ({ version, channel, locale }: (typeof texts)[number]) =>
      `${String(version).padStart(10, '0')}/${channel}/${locale}`
    return selectPage(texts, query, keyOf, 'descending')
  }
}

/** GET /v1/templates/{template_id}/{channel}/{locale}: the published version, or else the highest. */
export function getText({ store }: TemplateContext) {
  return async ({ params }: TextRequest, reply: FastifyReply) => {
    const versions = await versionsOf(store, parseKey(params))
    const text = versions.find(({ published }) => published) ?? versions[0]
    if (!text) throw new Problem(404, `There is no ${params.channel} text for ${params.locale} of this template.`)
    const { published, ...shown } = text
    return reply.header('etag', tagOf(versions) ?? '').send(formatText(shown, published))
  }
}

/** PUT /v1/templates/{template_id}/{channel}/{locale}: stores a new version; versions never change. */
export function updateText({ audit, store, reserved, clock }: TemplateContext) {
  return async (request: TextRequest<Static<typeof schemas.TextSettings>>, reply: FastifyReply) => {
    const { params, body } = request
    const ifMatch = request.headers['if-match']
    reserved.refuseTemplate(params.template_id)
    const { publish = true, ...text } = body
    const key = parseKey(params)
    const { variables } = orTemplateProblem(() => checkTemplate({ ...key, ...text, version: 0 }))
    const versions = await versionsOf(store, key)
    requireMatch(ifMatch, tagOf(versions))
    const before = versions.find(({ published }) => published)
    await audit(request, {
      action: 'templates.save',
      target: templateTarget(key),
      ...(before ? { before: formatText(before, true) } : {}),
      after: { ...formatText({ ...key, ...text, version: 0 }, publish), version: undefined },
    })
    const version = await store.save({ ...key, ...text }, publish, clock.now(), expectedOf(ifMatch, versions))
    if (version === undefined) throw preconditionFailed(tagOf(await versionsOf(store, key)))
    const state = { latest: version, published: publish ? version : before?.version }
    const saved = { ...formatText({ ...key, ...text, version }, publish), variables: [...variables] }
    return reply.header('etag', entityTagOf(state)).send(saved)
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

function formatText({ templateId, ...text }: TemplateText, published: boolean) {
  return { template_id: templateId, ...text, published }
}
