import { type ApiDocument, joinDocuments } from './document.ts'

const patienceMs = 2_000
const freshMs = 60_000
const maxBytes = 8 * 1024 * 1024

/**
 * Joins the documents of the services in other processes to one. A service that does not answer is left out and named;
 * what was read is good for a minute.
 */
export function createJoining(siblings: Readonly<Record<string, string>>): (own: ApiDocument) => Promise<ApiDocument> {
  const names = Object.keys(siblings)
  let read: { readonly documents: Promise<(ApiDocument | undefined)[]>; readonly until: number } | undefined
  return async (own) => {
    if (names.length === 0) return own
    if (read === undefined || performance.now() > read.until) {
      const documents = Promise.all(Object.values(siblings).map(documentAt))
      read = { documents, until: performance.now() + freshMs }
    }
    const documents = await read.documents
    const away = names.filter((_, i) => documents[i] === undefined)
    if (away.length > 0) read = undefined
    const whole = joinDocuments(
      own,
      documents.filter((document) => document !== undefined),
    )
    const description = `Left out, because it does not answer: ${away.join(', ')}.`
    return away.length === 0 ? whole : { ...whole, info: { ...whole.info, description } }
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
