import { readdirSync, readFileSync } from 'node:fs'

/** The words of the pages in one language: by key, with `{name}` where something is put in. */
export interface Texts {
  readonly locale: string
  /** The words of a key; a language that lacks it falls back to English. */
  say(key: string, values?: Readonly<Record<string, string>>): string
  has(key: string): boolean
}

type Words = Readonly<Record<string, string>>

const fallback = 'en'
/** Of what a browser or a client asks for, in characters: each part of a tag is looked up with all that is before it. */
const maxWishes = 500

/** The languages there are: one file of words each, those of a page's own folder and over them those of the operator's. */
export class Languages {
  readonly #words = new Map<string, Words>()

  constructor(own: URL, folder?: URL) {
    for (const one of folder === undefined ? [own] : [own, folder]) {
      for (const name of readdirSync(one).filter((file) => file.endsWith('.json'))) {
        const locale = name.slice(0, -'.json'.length).toLowerCase()
        const words = JSON.parse(readFileSync(new URL(name, one), 'utf8')) as Words
        this.#words.set(locale, { ...this.#words.get(locale), ...words })
      }
    }
  }

  get locales(): string[] {
    return [...this.#words.keys()]
  }

  /** The best language for what was asked for: `ui_locales` first, then the browser's wishes (RFC 4647 §3.4). */
  choose(uiLocales: string | undefined, acceptLanguage: string | undefined): Texts {
    const wishes = [...(uiLocales?.slice(0, maxWishes).split(' ') ?? []), ...parseAcceptLanguage(acceptLanguage)]
    for (const wish of wishes) {
      const found = this.#lookup(wish.toLowerCase())
      if (found !== undefined) return this.#texts(found)
    }
    return this.#texts(fallback)
  }

  #lookup(wish: string): string | undefined {
    for (let range = wish; range !== ''; range = range.slice(0, Math.max(0, range.lastIndexOf('-')))) {
      if (this.#words.has(range)) return range
    }
    return undefined
  }

  #texts(locale: string): Texts {
    const words = { ...this.#words.get(fallback), ...this.#words.get(locale) }
    return {
      locale,
      has: (key) => key in words,
      say: (key, values = {}) =>
        (words[key] ?? key).replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole),
    }
  }
}

function parseAcceptLanguage(header: string | undefined): string[] {
  return (header ?? '')
    .slice(0, maxWishes)
    .split(',')
    .map((entry) => {
      const [tag = '', quality] = entry.trim().split(/;\s*q=/)
      return { tag, quality: quality === undefined ? 1 : Number(quality) }
    })
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag)
}
