import type { AnswerFacts } from '@gatehouse/client'
import {
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { type ActionId, actions, type InputOf, type OutputOf } from '../../actions/index.ts'
import { callOperation } from './call.ts'

/** What an operation answered, with its version. */
export interface Tagged<Value> {
  readonly value: Value
  readonly etag: string | undefined
}

/** Reads what is to be edited, with the version that the change expects. */
export function useTaggedRead<Id extends ActionId>(
  id: Id,
  input: InputOf<Id>,
  enabled: boolean,
): UseQueryResult<Tagged<OutputOf<Id>>> {
  const { operation } = actions[id]
  return useQuery({
    queryKey: [operation, 'tagged', input],
    queryFn: async ({ signal }) => {
      let facts: AnswerFacts | undefined
      const onAnswer = (answer: AnswerFacts) => {
        facts = answer
      }
      const value = (await callOperation(operation, input, { signal, onAnswer })) as OutputOf<Id>
      return { value, etag: facts?.etag }
    },
    enabled,
    staleTime: 0,
    gcTime: 0,
  })
}

/** Changes what was read, if it is still of that version: another one is refused with 412. */
export function useTaggedAction<Id extends ActionId>(
  id: Id,
): UseMutationResult<OutputOf<Id>, Error, Tagged<InputOf<Id>>> {
  const { operation, invalidates } = actions[id]
  const client = useQueryClient()
  return useMutation<OutputOf<Id>, Error, Tagged<InputOf<Id>>>({
    mutationFn: async ({ value, etag }) =>
      callOperation(operation, value, etag === undefined ? {} : { ifMatch: etag }) as Promise<OutputOf<Id>>,
    onSuccess: () => Promise.all(invalidates.map((name) => client.invalidateQueries({ queryKey: [name] }))),
  })
}
