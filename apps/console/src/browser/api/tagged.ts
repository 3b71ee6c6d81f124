import {
  type UseMutationResult,
  type UseQueryOptions,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { type ActionId, actions, type InputOf, type OutputOf } from '../../actions/index.ts'
import { callOperation } from './call.ts'

/** A record and its version. */
export interface Tagged<Value> {
  readonly value: Value
  readonly etag: string | undefined
}

/** Reads a record with its version, to edit it. */
export function useTagged<Id extends ActionId>(id: Id, input: InputOf<Id>): UseQueryResult<Tagged<OutputOf<Id>>> {
  const { operation } = actions[id]
  return useQuery<Tagged<OutputOf<Id>>>({
    queryKey: [operation, 'tagged', input],
    queryFn: async ({ signal }) => {
      const found: { etag?: string | undefined } = {}
      const value = await callOperation(operation, input, {
        signal,
        onAnswer: ({ etag }) => {
          found.etag = etag
        },
      })
      return { value: value as OutputOf<Id>, etag: found.etag }
    },
  } as UseQueryOptions<Tagged<OutputOf<Id>>>)
}

/** A change of a record as it was read. */
export interface Change<Id extends ActionId> {
  readonly input: InputOf<Id>
  readonly ifMatch: string | undefined
}

/** Changes a record only as it was read. @throws PreconditionFailedError by its mutation, when it was changed since */
export function useChange<Id extends ActionId>(id: Id): UseMutationResult<OutputOf<Id>, Error, Change<Id>> {
  const { operation, invalidates } = actions[id]
  const client = useQueryClient()
  return useMutation<OutputOf<Id>, Error, Change<Id>>({
    mutationFn: async ({ input, ifMatch }) =>
      callOperation(operation, input, ifMatch === undefined ? {} : { ifMatch }) as Promise<OutputOf<Id>>,
    onSuccess: () => Promise.all(invalidates.map((name) => client.invalidateQueries({ queryKey: [name] }))),
  })
}
