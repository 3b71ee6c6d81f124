import { canonicalLocale } from '@gatehouse/kit'
import { type Channel, channels } from '../model/channel.ts'
import type { ShortenLinks } from '../model/delivery/short-link.ts'
import { lookUpLocale } from '../model/locale.ts'
import { hidden } from '../model/masking.ts'
import type { EventType } from '../model/notification/event-type.ts'
import type { EventTypes, Templates } from '../store/store.ts'
import { linkHostsOf } from '../templates/link-hosts.ts'
import {
  type Compiled,
  compileTemplate,
  MissingTextError,
  TemplateError,
  type TemplateText,
} from '../templates/template.ts'
import type { Reserved } from './reserved.ts'

/** The event types and published templates as they stand at one version of the settings, parsed. */
export interface Catalog {
  readonly version: number
  readonly eventTypes: ReadonlyMap<string, EventType>
  /** The text of a template for a channel in the best of the wanted locales. Throws {@link TemplateError}. */
  text(templateId: string, channel: Channel, wanted: readonly string[]): Compiled
  hasTemplate(templateId: string): boolean
  /** The channels that a template has texts for. */
  channels(templateId: string): readonly Channel[]
  /** The hosts that the texts of a template link to on a channel, in any locale. */
  linkHosts(templateId: string, channel: Channel): ReadonlySet<string>
  /** Whether an event type belongs to another service, which alone sends its mails. */
  isReserved(event: string): boolean
  /** Whether an event type that is not reserved names the template of one that is: it may not speak in its words. */
  borrowsReserved(event: string): boolean
  /** Variables of every mail that is not sensitive, besides those of its event. */
  readonly mailVariables?: MailVariables
  /** Replaces the links of texts that are tracked. */
  readonly shortenLinks?: ShortenLinks
}

/** The variables that the template of a mail gets beside the data of its event. */
export type MailVariables = (userId: string, event: string) => Readonly<Record<string, string>>

/** Keeps the catalog, and reads it again when a version is asked for that it doesn't hold. */
export interface CatalogKeeper {
  at(version: number): Promise<Catalog>
  /** As the settings stand now. */
  current(): Promise<Catalog>
}

/** What building a catalog needs. */
export interface CatalogOptions {
  readonly mailVariables?: MailVariables | undefined
  readonly shortenLinks?: ShortenLinks | undefined
  /** Event types that belong to another service. */
  readonly reserved?: Pick<Reserved, 'eventTypes' | 'hasTemplate'>
}

/** Creates the keeper of the catalog, which is read again when the version of the settings changes. */
export function createCatalogKeeper(
  store: { readonly eventTypes: EventTypes; readonly templates: Templates },
  { mailVariables, shortenLinks, reserved }: CatalogOptions = {},
): CatalogKeeper {
  let kept: Promise<Catalog> | undefined
  let keptVersion = -1
  const read = (version: number): Promise<Catalog> => {
    keptVersion = version
    const isReserved = (event: string) => reserved?.eventTypes.has(event) === true
    const common = {
      isReserved,
      ...(mailVariables ? { mailVariables } : {}),
      ...(shortenLinks ? { shortenLinks } : {}),
    }
    kept = readCatalog(store, version).then((read) => ({
      ...read,
      ...common,
      borrowsReserved: (event) =>
        !isReserved(event) && reserved?.hasTemplate(read.eventTypes.get(event)?.templateId ?? '') === true,
    }))
    kept.catch(() => {
      kept = undefined
      keptVersion = -1
    })
    return kept
  }
  const at = (version: number) => (kept && keptVersion === version ? kept : read(version))
  return { at, current: async () => at(await store.eventTypes.version()) }
}

async function readCatalog(
  store: { readonly eventTypes: EventTypes; readonly templates: Templates },
  version: number,
): Promise<Omit<Catalog, 'isReserved' | 'borrowsReserved' | 'mailVariables'>> {
  const [eventTypes, texts] = await Promise.all([store.eventTypes.list(), store.templates.listPublished()])
  const byPlace = Map.groupBy(texts, ({ templateId, channel }) => placeOf(templateId, channel))
  const places = new Map([...byPlace].map(([place, list]) => [place, new Place(list)]))
  const templateIds = new Set(texts.map(({ templateId }) => templateId))
  return {
    version,
    eventTypes: new Map(eventTypes.map((eventType) => [eventType.event, eventType])),
    hasTemplate: (templateId) => templateIds.has(templateId),
    channels: (templateId) => channels.filter((channel) => places.has(placeOf(templateId, channel))),
    linkHosts: (templateId, channel) => places.get(placeOf(templateId, channel))?.linkHosts ?? noHosts,
    text(templateId, channel, wanted) {
      const place = places.get(placeOf(templateId, channel))
      if (!place) throw new MissingTextError(`the template ${templateId} has no text for ${channel}`)
      return place.text(wanted)
    },
  }
}

const noHosts: ReadonlySet<string> = new Set()

/** Whether nobody may read the data of an event of this type. A type that is not there may have been sensitive. */
export function isSecret({ eventTypes }: Pick<Catalog, 'eventTypes'>, event: string): boolean {
  return eventTypes.get(event)?.sensitive !== false
}

/**
 * The links that the template of a mail may name, for its preview and its test. None where one of its event types is
 * sensitive: the mails of that type get none.
 */
export function sampleVariables(
  { eventTypes, mailVariables }: Pick<Catalog, 'eventTypes' | 'mailVariables'>,
  templateId: string,
  userId: string,
): Readonly<Record<string, string>> {
  const isSensitive = [...eventTypes.values()].some((each) => each.templateId === templateId && each.sensitive)
  return isSensitive ? {} : (mailVariables?.(userId, templateId) ?? {})
}

/** The same links without their tokens. Who has one may change what its user receives: it is shown to nobody. */
export function withoutTokens(mailVariables: MailVariables): MailVariables {
  return (userId, event) =>
    Object.fromEntries(
      Object.entries(mailVariables(userId, event)).map(([name, link]) => [name, link.replace(/[^/]*$/, hidden)]),
    )
}

/** A text as its template has it, with the variables unfilled; hidden where there is none any more. */
export function unfilledText(
  catalog: Catalog,
  templateId: string,
  channel: Channel,
  locale: string,
): { readonly subject?: string; readonly body: string } {
  try {
    const { subject, body } = catalog.text(templateId, channel, [locale]).text
    return { ...(subject === undefined ? {} : { subject }), body }
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    return { subject: hidden, body: hidden }
  }
}

function placeOf(templateId: string, channel: Channel): string {
  return `${channel} ${templateId}`
}

/** The texts of one template for one channel, by locale, each parsed when it is first used. */
class Place {
  readonly #texts: ReadonlyMap<string, TemplateText>
  readonly #locales: ReadonlySet<string>
  readonly #compiled = new Map<string, Compiled>()
  #linkHosts: ReadonlySet<string> | undefined

  constructor(texts: readonly TemplateText[]) {
    this.#texts = new Map(texts.map((text) => [canonicalLocale(text.locale) ?? text.locale, text]))
    this.#locales = new Set(this.#texts.keys())
  }

  get linkHosts(): ReadonlySet<string> {
    this.#linkHosts ??= linkHostsOf([...this.#texts.values()])
    return this.#linkHosts
  }

  text(wanted: readonly string[]): Compiled {
    const locale = lookUpLocale(wanted, this.#locales)
    const text = locale === undefined ? undefined : this.#texts.get(locale)
    if (locale === undefined || !text) {
      const [first] = this.#texts.values()
      const there = [...this.#locales].join(', ')
      throw new MissingTextError(
        `the template ${first?.templateId} has no ${first?.channel} text for ${wanted.join(', ')}, only for ${there}`,
      )
    }
    const compiled = this.#compiled.get(locale) ?? compileTemplate(text)
    this.#compiled.set(locale, compiled)
    return compiled
  }
}
