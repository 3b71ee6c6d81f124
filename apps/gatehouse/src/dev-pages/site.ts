import { Languages, type Site, type SiteLink, type Texts } from '@gatehouse/kit/page'

/** Which pages this process serves, beside the API reference. */
export interface DevPlaces {
  readonly start: boolean
  readonly mailbox: boolean
  readonly inbox: boolean
  /** The account page, where identity is. */
  readonly account?: string | undefined
  /** The console, where it is composed. */
  readonly console?: string | undefined
}

/** The pages for people who run Gatehouse: what they have in common. */
export interface DevSite {
  readonly languages: Languages
  readonly places: DevPlaces
  /** Where the style sheets and scripts of these pages are. */
  readonly assets: string
  links(locale: string): readonly SiteLink[]
  bar(texts: Texts, here: string): Site
}

/** Names the pages; their words are read when the first page is asked for. */
export function createDevSite(places: DevPlaces, textsFolder: URL | undefined): DevSite {
  let languages: Languages | undefined
  const read = () => {
    languages ??= new Languages(new URL('texts/', import.meta.url), textsFolder)
    return languages
  }
  const links = (texts: Texts): SiteLink[] =>
    linkedPlaces(places).map(([name, href]) => ({ href, text: texts.say(`site.${name}`) }))
  return {
    places,
    assets: '/dev/assets',
    get languages() {
      return read()
    },
    links: (locale) => links(read().choose(locale, undefined)),
    bar: (texts, here) => ({
      links: links(texts),
      here,
      skip: texts.say('site.skip'),
      label: texts.say('site.label'),
    }),
  }
}

/** The pages in the bar, by name and path. */
export function linkedPlaces({
  start,
  mailbox,
  inbox,
  account,
  console,
}: DevPlaces): ReadonlyArray<readonly [string, string]> {
  return [
    ...(start ? [['start', '/'] as const] : []),
    ...(console === undefined ? [] : [['console', console] as const]),
    ...(mailbox ? [['mailbox', '/dev/mailbox'] as const] : []),
    ...(inbox ? [['inbox', '/dev/inbox'] as const] : []),
    ['docs', '/docs'] as const,
    ...(account === undefined ? [] : [['account', account] as const]),
  ]
}
