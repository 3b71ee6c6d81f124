import type { CallOptions } from '@gatehouse/client'
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
import { useOnePress } from './press.ts'
import { type Complete, readAgain } from './queries.ts'

/** What was read or stored, with the entity tag that a change of it names (RFC 9110 §13.1.1). */
export interface Versioned<Value> {
  readonly value: Value
  readonly etag: string | undefined
}

/** Reads something that is edited. It is read once for each visit: what is being edited does not change by itself. */
export function useVersioned<Id extends ActionId>(
  id: Id,
  input: InputOf<Id>,
  enabled = true,
): UseQueryResult<Versioned<OutputOf<Id>>> {
  const { operation } = actions[id]
  return useQuery({
    queryKey: [operation, 'versioned', input],
    queryFn: ({ signal }) => readVersioned(id, input, signal),
    enabled,
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  } as UseQueryOptions<Versioned<OutputOf<Id>>>)
}

/** Reads it now. */
export async function readVersioned<Id extends ActionId>(
  id: Id,
  input: InputOf<Id>,
  signal?: AbortSignal,
): Promise<Versioned<OutputOf<Id>>> {
  return callVersioned(id, input, { signal })
}

/** A change of what was read; without an entity tag it is made whatever is stored. */
export interface Change<Id extends ActionId> {
  readonly input: InputOf<Id>
  readonly ifMatch: string | undefined
}

/** Makes a change, unless somebody else made one since it was read: then it throws a PreconditionFailedError. */
export async function changeVersioned<Id extends ActionId>(
  id: Id,
  { input, ifMatch }: Change<Id>,
): Promise<Versioned<OutputOf<Id>>> {
  return callVersioned(id, input, ifMatch === undefined ? {} : { ifMatch })
}

/** Makes changes of what a form shows, once for a double click; what they change is read again behind it. */
export function useChange<Id extends ActionId>(
  id: Id,
  complete?: Complete<Id>,
): UseMutationResult<Versioned<OutputOf<Id>>, Error, Change<Id>> {
  const client = useQueryClient()
  const press = useOnePress<Change<Id>, Versioned<OutputOf<Id>>>()
  return useMutation<Versioned<OutputOf<Id>>, Error, Change<Id>>({
    mutationFn: (change) =>
      press(change, async () =>
        changeVersioned(id, { ...change, input: (await complete?.(change.input)) ?? change.input }),
      ),
    onSuccess: () => void readAgain(client, id),
  })
}

async function callVersioned<Id extends ActionId>(
  id: Id,
  input: InputOf<Id>,
  options: Omit<CallOptions, 'onAnswer'>,
): Promise<Versioned<OutputOf<Id>>> {
  let etag: string | undefined
  const onAnswer = (facts: { readonly etag: string | undefined }) => {
    etag = facts.etag
  }
  const value = await callOperation(actions[id].operation, input, { ...options, onAnswer })
  return { value, etag }
}
