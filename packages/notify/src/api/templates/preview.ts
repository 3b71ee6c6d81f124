import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { Catalog, CatalogKeeper } from '../../catalog/catalog.ts'
import type { Reserved } from '../../catalog/reserved.ts'
import type { Audit } from '../../context/audit.ts'
import type { Channel } from '../../model/channel.ts'
import { maskResult } from '../../model/masking.ts'
import type { Content, Data } from '../../model/notification.ts'
import type { AccessControl } from '../../request/caller.ts'
import { smsSegments, textOfHtml } from '../../templates/message-text.ts'
import { type Compiled, checkTemplate } from '../../templates/template.ts'
import type * as schemas from '../schemas/templates.ts'
import { orTemplateProblem } from './problem.ts'

/** What the preview and the test of a template need. */
export interface PreviewContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly reserved: Reserved
  readonly catalog: CatalogKeeper
  /** The locale of users whose own is unknown. */
  readonly defaultLocale: string
  /** Sends a rendered text to a user at once, past preferences, caps and deduplication; returns the providers' results. */
  readonly testSend: (channel: Channel, userId: string, content: Content) => Promise<readonly object[]>
}

type TemplateRequest<Body> = FastifyRequest<{ Params: Static<typeof schemas.TemplateParams>; Body: Body }>

/** POST /v1/templates/{template_id}/preview: renders a published text, or a draft, with sample data. */
export function previewTemplate(context: PreviewContext) {
  return async ({ params, body }: TemplateRequest<Static<typeof schemas.PreviewRequest>>) => {
    const { channel: name, locale, data, ...draft } = body
    const { template_id: templateId } = params
    const channel = name as Channel
    const text = { templateId, channel, locale: locale ?? context.defaultLocale, version: 0, body: '', ...draft }
    const isDraft = draft.body !== undefined || draft.html !== undefined
    const compiled = isDraft
      ? orTemplateProblem(() => checkTemplate(text))
      : await compilePublished(context, templateId, channel, locale)
    const { content, missing } = orTemplateProblem(() => compiled.render(data as Data))
    const rendered = content.body === '' && content.html !== undefined ? textOfHtml(content.html) : content.body
    return {
      ...content,
      body: rendered,
      variables: [...compiled.variables],
      missing: [...missing],
      ...(channel === 'sms'
        ? { sms: smsSegments(largestSms(await context.catalog.current(), templateId, { ...content, body: rendered })) }
        : {}),
    }
  }
}

/** POST /v1/templates/{template_id}/test: sends the published text to a user at once. */
export function testTemplate(context: PreviewContext) {
  const { access, audit, reserved, testSend } = context
  return async (request: TemplateRequest<Static<typeof schemas.TestRequest>>) => {
    const { params, body } = request
    reserved.refuseTemplate(params.template_id)
    const channel = body.channel as Channel
    const compiled = await compilePublished(context, params.template_id, channel, body.locale)
    const { content } = orTemplateProblem(() => compiled.render(body.data as Data))
    const after = { template_id: params.template_id, channel, locale: content.locale }
    await audit(request, { action: 'templates.test', target: { type: 'user', id: body.user_id }, after })
    const results = await testSend(channel, body.user_id, content)
    if (results.length === 0) throw new Problem(422, `The user ${body.user_id} can't be reached by ${channel}.`)
    return {
      results: access.masks(request, body.user_id) ? results.map((each) => maskResult({ ...each })) : [...results],
    }
  }
}

async function compilePublished(
  { catalog, defaultLocale }: PreviewContext,
  templateId: string,
  channel: Channel,
  locale: string | undefined,
): Promise<Compiled> {
  const locales = [locale, defaultLocale].filter((each) => each !== undefined)
  const current = await catalog.current()
  return orTemplateProblem(() => current.text(templateId, channel, locales))
}

/** The SMS that the event types of the template send: with short links where clicks are tracked, the one of most segments. */
function largestSms(catalog: Catalog, templateId: string, content: Content): string {
  const eventTypes = [...catalog.eventTypes.values()].filter((eventType) => eventType.templateId === templateId)
  const delivery = { userId: '', channel: 'sms', now: 0 } as const
  return (eventTypes.length > 0 ? eventTypes : [{ sensitive: false }])
    .map((eventType) => catalog.shortenLinks?.({ ...delivery, eventType, content }).content.body ?? content.body)
    .reduce((max, text) => (smsSegments(text).segments > smsSegments(max).segments ? text : max))
}
