import { canonicalLocale, Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { type Catalog, type CatalogKeeper, sampleVariables } from '../../catalog/catalog.ts'
import { type Channel, channels } from '../../model/channel.ts'
import type { Data } from '../../model/notification/notification.ts'
import { textOfHtml } from '../../templates/message-text.ts'
import { type Compiled, checkTemplate, TemplateError } from '../../templates/template.ts'
import type * as schemas from '../schemas/template-preview.ts'
import { type AsSent, completePreview } from './as-sent.ts'

/** What the preview of a template needs. */
export interface PreviewContext extends AsSent {
  readonly catalog: CatalogKeeper
  /** The locale of users whose own is unknown. */
  readonly defaultLocale: string
}

type Request = Static<typeof schemas.PreviewRequest>
type Draft = NonNullable<Request['draft']>
type Preview = Static<typeof schemas.Previews>['items'][number]

/** How long the texts of one request are rendered, in milliseconds: each may take its own limit, on the thread of all. */
const maxRenderMs = 500
/** How long the texts of one response are together, in characters: each may be as long as a mail may. */
const maxRenderedLength = 1_000_000

/**
 * POST /v1/templates/{template_id}/preview: renders texts of channels and locales, or a draft among them, with the same
 * data. A text that is at fault does not keep the others from being rendered.
 */
export function previewTemplate(context: PreviewContext) {
  return async ({ params, body }: FastifyRequest<{ Params: { readonly template_id: string }; Body: Request }>) => {
    const { template_id: templateId } = params
    const catalog = await context.catalog.current()
    const { draft } = body
    const places = placesOf(body, catalog.channels(templateId), context.defaultLocale)
    if (places.length === 0) throw new Problem(404, `There is no template ${templateId}.`)
    const started = performance.now()
    const items: Preview[] = []
    let length = 0
    for (const { channel, locale } of places) {
      const empty = { channel, requested_locale: locale, variables: [], missing: [] }
      const reason =
        length > maxRenderedLength
          ? 'are too long together'
          : performance.now() - started > maxRenderMs && 'took too long'
      if (reason) {
        items.push({ ...empty, faults: [{ message: `it was not rendered: those before it ${reason}` }] })
        continue
      }
      const isDraft = draft?.channel === channel && canonicalLocale(draft.locale) === canonicalLocale(locale)
      const text = isDraft ? draft : undefined
      const rendered = await renderOne(context, catalog, { templateId, channel, locale, text, data: body.data as Data })
      length += [rendered.subject, rendered.body, rendered.html].reduce((sum, part = '') => sum + part.length, 0)
      items.push({ ...empty, ...rendered })
    }
    return { items, unused: unusedMembers(body.data as Data, items) }
  }
}

/** Every channel in every locale that a request names. */
function placesOf({ channels: wanted, locales, draft }: Request, known: readonly Channel[], defaultLocale: string) {
  const own = draft === undefined ? known : channels.filter((name) => known.includes(name) || name === draft.channel)
  const tags = locales ?? [draft?.locale ?? defaultLocale]
  return ((wanted ?? own) as readonly Channel[]).flatMap((channel) => tags.map((locale) => ({ channel, locale })))
}

interface Place {
  readonly templateId: string
  readonly channel: Channel
  readonly locale: string
  readonly text: Draft | undefined
  readonly data: Data
}

async function renderOne(
  context: PreviewContext,
  catalog: Catalog,
  place: Place,
): Promise<Partial<Preview> & Pick<Preview, 'faults'>> {
  const { templateId, channel, data } = place
  let compiled: Compiled | undefined
  try {
    compiled = compileAt(place, catalog, context.defaultLocale)
    const { text, variables } = compiled
    const links = channel === 'email' ? sampleVariables(catalog, templateId, '') : undefined
    const { content, missing } = compiled.render({ ...links, ...data })
    const body = content.body === '' && content.html !== undefined ? textOfHtml(content.html) : content.body
    const sent = await completePreview(context, catalog, { text, content: { ...content, body } })
    return {
      ...sent,
      locale: text.locale,
      ...(place.text === undefined ? { version: text.version } : {}),
      variables: [...variables],
      missing: [...missing],
      faults: [],
    }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    const faults = error.faults.length > 0 ? [...error.faults] : [{ message: error.message }]
    return { ...(compiled ? { locale: compiled.text.locale, variables: [...compiled.variables] } : {}), faults }
  }
}

function compileAt({ templateId, channel, locale, text }: Place, catalog: Catalog, defaultLocale: string): Compiled {
  if (text === undefined) return catalog.text(templateId, channel, [locale, defaultLocale])
  const { subject, body = '', html } = text
  const parts = { body, ...(subject === undefined ? {} : { subject }), ...(html === undefined ? {} : { html }) }
  return checkTemplate({ templateId, channel, locale: canonicalLocale(locale) ?? locale, version: 0, ...parts })
}

/** The members of the data that no text names. What one names may be deeper: `order.id` names `order`. */
function unusedMembers(data: Data, items: readonly Preview[]): string[] {
  const named = new Set(items.flatMap(({ variables }) => variables.map((path) => path.split('.', 1)[0])))
  return Object.keys(data).filter((member) => !named.has(member))
}
