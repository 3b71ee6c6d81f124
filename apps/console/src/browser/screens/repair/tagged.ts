import { ApiError } from '@gatehouse/client'
import { type UseMutationResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { InputOf, OutputOf } from '../../../actions/index.ts'
import { callOperation } from '../../api/call.ts'

/*
 * What several administrators may edit at once: a change says what it was read as, and the server refuses it (412) where
 * that is no longer so.
 */

/** Whether a change was refused, since somebody else was first. */
export function isConflict(error: Error): boolean {
  return error instanceof ApiError && error.status === 412
}

/** A channel, as the API knows it. */
export type ProviderChannel = NonNullable<InputOf<'readProviderOrder'>>['channel']

/** Reads the order of a channel's providers with its entity tag, and changes it as it was read. */
export function useProviderOrder(channel: ProviderChannel): UseMutationResult<unknown, Error, readonly string[]> {
  const client = useQueryClient()
  const { data: etag } = useQuery({
    queryKey: ['providers.order.get', channel],
    queryFn: ({ signal }) =>
      tagOf((onAnswer) => callOperation('providers.order.get', { channel }, { signal, onAnswer })),
  })
  return useMutation({
    mutationFn: (providers: readonly string[]) =>
      callOperation('providers.order.update', { channel, providers: [...providers] }, ifMatch(etag)),
    onSettled: () => readAgain(client),
  })
}

/** Pauses a provider until a time or until it is resumed, or resumes it, as it was read. */
export function useProviderPause(name: string): UseMutationResult<unknown, Error, PauseChange> {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ kind, until, wasPausedUntil }: PauseChange) => {
      let before: OutputOf<'readProvider'> | undefined
      const etag = await tagOf(async (onAnswer) => {
        before = await callOperation('providers.get', { name }, { onAnswer })
      })
      // What the person decided on is what they saw.
      const isSame = before?.paused_until === wasPausedUntil
      const options = ifMatch(isSame ? etag : '"changed"')
      if (kind === 'resume') return callOperation('providers.resume', { name }, options)
      return callOperation('providers.pause', { name, ...(until === undefined ? {} : { until }) }, options)
    },
    onSettled: () => readAgain(client),
  })
}

/** A pause or its end, and what the person saw before. */
export interface PauseChange {
  readonly kind: 'pause' | 'resume'
  readonly until?: string
  readonly wasPausedUntil: string | undefined
}

type OnAnswer = (answer: { readonly etag: string | undefined }) => void

async function tagOf(call: (onAnswer: OnAnswer) => Promise<unknown>): Promise<string | undefined> {
  let found: string | undefined
  await call(({ etag }) => {
    found = etag
  })
  return found
}

function ifMatch(etag: string | undefined) {
  return etag === undefined ? {} : { ifMatch: etag }
}

function readAgain(client: ReturnType<typeof useQueryClient>): Promise<unknown> {
  const names = ['providers.list', 'providers.get', 'providers.order.get']
  return Promise.all(names.map((name) => client.invalidateQueries({ queryKey: [name] })))
}
