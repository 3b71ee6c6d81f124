import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import type { InputOf } from '../../../../actions/index.ts'
import { readAgain } from '../../../api/queries.ts'
import { changeVersioned, readVersioned, useVersioned } from '../../../api/versioned.ts'

/** A channel, as the API knows it. */
export type ProviderChannel = NonNullable<InputOf<'readProviderOrder'>>['channel']

/** Reads the order of a channel's providers, and changes it as it was read. */
export function useProviderOrder(channel: ProviderChannel): UseMutationResult<unknown, Error, readonly string[]> {
  const client = useQueryClient()
  const { data: order } = useVersioned('readProviderOrder', { channel })
  return useMutation({
    mutationFn: (providers: readonly string[]) =>
      changeVersioned('orderProviders', { input: { channel, providers: [...providers] }, ifMatch: order?.etag }),
    // Whoever was refused reads what the other stored, and may try again.
    onSettled: () => readAgain(client, 'orderProviders'),
  })
}

/** A pause or its end, and what the person saw before. */
export interface PauseChange {
  readonly kind: 'pause' | 'resume'
  readonly until?: string
  readonly wasPausedUntil: string | undefined
}

/** Pauses a provider until a time or until it is resumed, or resumes it, unless it is no longer as the person saw it. */
export function useProviderPause(name: string): UseMutationResult<unknown, Error, PauseChange> {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ kind, until, wasPausedUntil }: PauseChange) => {
      const { value, etag } = await readVersioned('readProvider', { name })
      const ifMatch = value.paused_until === wasPausedUntil ? etag : '"as the person saw it"'
      if (kind === 'resume') return changeVersioned('resumeProvider', { input: { name }, ifMatch })
      return changeVersioned('pauseProvider', { input: { name, ...(until === undefined ? {} : { until }) }, ifMatch })
    },
    onSettled: () => readAgain(client, 'pauseProvider'),
  })
}
