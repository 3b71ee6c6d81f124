import { NotFoundError, type TemplateText, type TemplateTextSummary } from '@gatehouse/client'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { callOperation } from '../../../api/call.ts'
import { readVersioned } from '../../../api/versioned.ts'
import type { Place } from './draft.ts'

/** A text as the editor begins with it. */
export interface Source {
  /** The version that is shown; undefined for a text that is not there yet. */
  readonly text: TemplateText | undefined
  /** The text that a new one begins with. */
  readonly copied?: TemplateText
  /** The entity tag of the text, read before the version: a change in between is noticed when this one is saved. */
  readonly etag: string | undefined
}

/** Reads a version of a text, or else its highest one: a draft goes on where it was left. */
export async function readSource(place: Place, version?: number, signal?: AbortSignal): Promise<Source> {
  try {
    const { value, etag } = await readVersioned('readText', place, signal)
    const wanted = version ?? (await readHighest(place, signal))?.version ?? value.version
    if (wanted === value.version) return { text: value, etag }
    return { text: await callOperation('templates.versions.get', { ...place, version: wanted }, { signal }), etag }
  } catch (error) {
    if (error instanceof NotFoundError && version === undefined) return { text: undefined, etag: undefined }
    throw error
  }
}

async function readHighest(place: Place, signal?: AbortSignal): Promise<TemplateTextSummary | undefined> {
  const { items } = await callOperation('templates.versions.list', { ...place, summary: true, limit: 1 }, { signal })
  return items[0]
}

/**
 * The text that the editor begins with, for a new one that of another place. It is read for each visit and stays as it was
 * read.
 */
export function useSource(place: Place, version: number | undefined, from: Place | undefined): UseQueryResult<Source> {
  return useQuery({
    queryKey: ['source', place, version, from],
    queryFn: async ({ signal }) => {
      const source = await readSource(place, version, signal)
      if (source.text !== undefined || from === undefined) return source
      const { text: copied } = await readSource(from, undefined, signal)
      return copied === undefined ? source : { ...source, copied }
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
}
