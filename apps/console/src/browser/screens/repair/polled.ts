import { type UseQueryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { type ActionId, actions, type InputOf, type OutputOf } from '../../../actions/index.ts'
import { callOperation } from '../../api/call.ts'

/** Reads what an action's operation answers, again and again until `everyMs` says that nothing more comes. */
export function usePolled<Id extends ActionId>(
  id: Id,
  input: InputOf<Id>,
  everyMs: (answer: OutputOf<Id> | undefined) => number | false,
): UseQueryResult<OutputOf<Id>> {
  const { operation } = actions[id]
  return useQuery<OutputOf<Id>>({
    queryKey: [operation, input],
    queryFn: async ({ signal }) => callOperation(operation, input, { signal }),
    refetchInterval: ({ state }) => everyMs(state.data),
  } as UseQueryOptions<OutputOf<Id>>)
}
