import { type ApiDocument, joinDocuments } from './document.ts'

const patienceMs = 2_000
const freshMs = 60_000
/** How soon a service that did not answer is asked again: reading all of them takes long, and anybody may ask for it. */
const retryMs = 2_000
const maxBytes = 8 * 1024 * 1024

/**
 * Joins the documents of the services in other processes to one, which is the same object while what was read is good: a
 * minute. A service that does not answer is left out and named; it is asked again after two seconds.
 */
export function createJoining(siblings: Readonly<Record<string, string>>): (own: ApiDocument) => Promise<ApiDocument> {
  const names = Object.keys(siblings)
  let read: { readonly whole: Promise<ApiDocument>; until: number } | undefined
  const join = async (own: ApiDocument): Promise<ApiDocument> => {
    const documents = await Promise.all(Object.values(siblings).map(documentAt))
    const away = names.filter((_, i) => documents[i] === undefined)
    const whole = joinDocuments(
      own,
      documents.filter((document) => document !== undefined),
    )
    if (away.length === 0) return whole
    if (read) read.until = performance.now() + retryMs
    const description = `Left out, because it does not answer: ${away.join(', ')}.`
    return { ...whole, info: { ...whole.info, description } }
  }
  return async (own) => {
    if (names.length === 0) return own
    if (read === undefined || performance.now() > read.until)
      read = { whole: join(own), until: performance.now() + freshMs }
    return read.whole
  }
}

async function documentAt(url: string): Promise<ApiDocument | undefined> {
  try {
    const answer = await fetch(`${url}/openapi.json`, { signal: AbortSignal.timeout(patienceMs), redirect: 'error' })
    const text = await answer.text()
    if (!answer.ok || text.length > maxBytes) return undefined
    const document = JSON.parse(text) as ApiDocument
    return typeof document.paths === 'object' ? document : undefined
  } catch {
    return undefined
  }
}
