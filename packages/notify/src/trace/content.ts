import { maskMembers, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type CatalogKeeper, type MailVariables, withoutTokens } from '../catalog/catalog.ts'
import { type Channel, channels } from '../model/channel.ts'
import type { NotificationRecord } from '../model/notification/notification.ts'
import type { TemplateVersion } from '../model/notification/timeline.ts'
import type { AccessControl } from '../request/caller.ts'
import type { Notifications, StoredNotification, Templates } from '../store/store.ts'
import { textOfHtml } from '../templates/message-text.ts'
import { compileTemplate, TemplateError, type TemplateText } from '../templates/template.ts'
import type { TraceParams } from './schemas/notifications.ts'

/** What reading the content of a notification needs. */
export interface ContentContext {
  readonly access: AccessControl
  readonly notifications: Notifications
  readonly templates: Templates
  readonly catalog: CatalogKeeper
}

/**
 * GET /v1/notifications/{id}/content: what was sent on each channel. No text is stored: it is rendered again from the
 * version of the template that its timeline names, and the data of the event as long as that is kept.
 */
export function getContent(context: ContentContext) {
  return async (request: FastifyRequest<{ Params: Static<typeof TraceParams> }>) => {
    const { id } = request.params
    const { access, notifications, templates, catalog } = context
    const [found, stored] = await Promise.all([notifications.find(id), notifications.findStored(id)])
    if (!found || !stored || !access.canSee(request, found.userId))
      throw new Problem(404, `There is no notification ${id}.`)
    const rendered = renderedTexts(found)
    const texts = await readTexts(templates, [...rendered.values()])
    const { mailVariables } = await catalog.current()
    const masked = access.masks(request, found.userId)
    const items = [...rendered].map(([channel, template]) => {
      const text = texts.find((each) => isVersion(each, channel, template))
      return { channel, template: { ...template }, ...contentOf({ text, stored, masked, mailVariables }) }
    })
    return { items, ...dataOf(stored, masked) } as never
  }
}

/** The data of the event as far as the caller may see it, and why not where they may not. */
function dataOf({ sensitive, data }: StoredNotification, masked: boolean) {
  if (sensitive) return { data_source: 'sensitive' }
  if (!data) return { data_source: 'erased' }
  return masked ? { data: maskMembers(data), data_source: 'masked' } : { data, data_source: 'stored' }
}

/** The text that was rendered last for each channel. */
function renderedTexts({ timeline }: NotificationRecord): ReadonlyMap<Channel, TemplateVersion> {
  const last = channels.flatMap((channel) => {
    const entry = timeline.findLast((each) => each.what === 'queued' && each.channel === channel)
    const template = entry?.what === 'queued' ? entry.detail?.template : undefined
    return template ? [[channel, template] as const] : []
  })
  return new Map(last)
}

async function readTexts(templates: Templates, rendered: readonly TemplateVersion[]): Promise<TemplateText[]> {
  const ids = [...new Set(rendered.map(({ id }) => id))]
  return (await Promise.all(ids.map((id) => templates.listVersions(id)))).flat()
}

function isVersion(text: TemplateText, channel: Channel, { id, version, locale }: TemplateVersion): boolean {
  return text.templateId === id && text.channel === channel && text.version === version && text.locale === locale
}

interface ContentInput {
  /** Undefined where the version is gone. */
  readonly text: TemplateText | undefined
  readonly stored: StoredNotification
  readonly masked: boolean
  readonly mailVariables: MailVariables | undefined
}

/** The content, as far as the caller may see it, and where it is from. */
function contentOf({ text, stored, masked, mailVariables }: ContentInput) {
  const { sensitive, data, userId, event } = stored
  if (sensitive) return { source: 'sensitive' }
  if (!text || !data) return { source: 'erased' }
  const { subject, body, html } = text
  const unfilled = {
    ...(subject === undefined ? {} : { subject }),
    body,
    ...(html === undefined ? {} : { html }),
    source: 'unfilled',
  }
  if (masked) return unfilled
  try {
    const links = text.channel === 'email' && mailVariables ? withoutTokens(mailVariables)(userId, event) : {}
    const { content } = compileTemplate(text).render({ ...links, ...data })
    const { locale: _, ...shown } = content
    const isHtmlAlone = shown.html !== undefined && shown.body === ''
    return { ...shown, ...(isHtmlAlone ? { body: textOfHtml(shown.html ?? '') } : {}), source: 'rendered_again' }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return unfilled
  }
}
