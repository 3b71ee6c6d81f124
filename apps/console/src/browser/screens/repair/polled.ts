import { type UseQueryOptions, type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ActionId, actions, type InputOf, type OperationId, type OutputOf } from '../../../actions/index.ts'
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

/** A worker does what was asked for within this time, in milliseconds. */
const soonMs = [1_000, 3_000, 8_000] as const

/** Reads lists again soon: what was released leaves them when a worker has it. */
export function useReadSoon(...operations: readonly OperationId[]): () => void {
  const client = useQueryClient()
  return () => {
    for (const delayMs of soonMs)
      setTimeout(() => {
        for (const operation of operations) void client.invalidateQueries({ queryKey: [operation] })
      }, delayMs)
  }
}
