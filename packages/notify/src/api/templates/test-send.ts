import { canonicalLocale, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type CatalogKeeper, sampleVariables } from '../../catalog/catalog.ts'
import type { Reserved } from '../../catalog/reserved.ts'
import type { Audit } from '../../context/audit.ts'
import type { Channel } from '../../model/channel.ts'
import { maskResult } from '../../model/masking.ts'
import type { Content, Data } from '../../model/notification/notification.ts'
import type { AccessControl } from '../../request/caller.ts'
import { checkTemplate } from '../../templates/template.ts'
import type * as schemas from '../schemas/templates.ts'
import { orTemplateProblem } from './problem.ts'

/** What the test of a template needs. */
export interface TestContext {
  readonly access: AccessControl
  readonly audit: Audit
  readonly reserved: Reserved
  readonly catalog: CatalogKeeper
  /** The locale of users whose own is unknown. */
  readonly defaultLocale: string
  /** Sends a rendered text to a user at once, past preferences, caps and deduplication; returns the providers' results. */
  readonly testSend: (channel: Channel, userId: string, content: Content) => Promise<readonly object[]>
}

type Body = Static<typeof schemas.TestRequest>

/** POST /v1/templates/{template_id}/test: sends the published text, or a draft, to a user at once. */
export function testTemplate(context: TestContext) {
  const { access, audit, reserved, testSend } = context
  return async (request: FastifyRequest<{ Params: Static<typeof schemas.TemplateParams>; Body: Body }>) => {
    const { params, body } = request
    const { template_id: templateId } = params
    reserved.refuseTemplate(templateId)
    const channel = body.channel as Channel
    const catalog = await context.catalog.current()
    const compiled = await compile(context, templateId, body)
    const links = channel === 'email' ? sampleVariables(catalog, templateId, body.user_id) : undefined
    const { content } = orTemplateProblem(() => compiled.render({ ...links, ...(body.data as Data) }))
    const after = { template_id: templateId, channel, locale: content.locale, draft: body.draft !== undefined }
    await audit(request, { action: 'templates.test', target: { type: 'user', id: body.user_id }, after })
    const results = await testSend(channel, body.user_id, content)
    if (results.length === 0) throw new Problem(422, `The user ${body.user_id} can't be reached by ${channel}.`)
    return {
      results: access.masks(request, body.user_id) ? results.map((each) => maskResult({ ...each })) : [...results],
    }
  }
}

async function compile({ catalog, defaultLocale }: TestContext, templateId: string, body: Body) {
  const channel = body.channel as Channel
  const current = await catalog.current()
  return orTemplateProblem(() => {
    if (body.draft === undefined)
      return current.text(
        templateId,
        channel,
        body.locale === undefined ? [defaultLocale] : [body.locale, defaultLocale],
      )
    const locale = canonicalLocale(body.locale ?? defaultLocale) ?? defaultLocale
    return checkTemplate({ templateId, channel, locale, version: 0, body: '', ...body.draft })
  })
}
