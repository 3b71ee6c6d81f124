import {
  type InfiniteData,
  keepPreviousData,
  QueryClient,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { type ActionId, actions, type OperationId } from '../../actions/index.ts'
import { call, type Input } from './call.ts'
import { ApiError } from './problem.ts'

/** A page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly next?: string
}

const staleMs = 10_000

/** Creates the cache of answers. A refused call is not repeated by itself; one that got no answer is, once. */
export function createQueries(onSignedOut: () => void): QueryClient {
  const client = new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: staleMs,
        retry: (failures, error) => !(error instanceof ApiError) && failures < 1,
        refetchOnWindowFocus: true,
      },
    },
  })
  const watch = ({ type, action }: { type: string; action?: { type: string; error?: unknown } }) => {
    if (type === 'updated' && action?.type === 'error' && isSignedOut(action.error)) onSignedOut()
  }
  client.getQueryCache().subscribe(watch)
  client.getMutationCache().subscribe(watch)
  return client
}

/** Whether an error says that the session has ended. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiError && error.kind === 'signed-out'
}

/** Reads what an action's operation answers. Older data stays while it is read again. */
export function useRead<Answer>(id: ActionId, input: Input = {}, enabled = true): UseQueryResult<Answer> {
  const { operation } = actions[id]
  return useQuery({
    queryKey: [operation, input],
    queryFn: ({ signal }) => call<Answer>(operation, input, signal),
    placeholderData: keepPreviousData,
    enabled,
  })
}

/** Reads a list page by page. */
export function usePages<Item>(
  id: ActionId,
  input: Input = {},
): UseInfiniteQueryResult<InfiniteData<Page<Item>, string | undefined>> {
  const { operation } = actions[id]
  return useInfiniteQuery({
    queryKey: [operation, 'pages', input],
    queryFn: ({ pageParam, signal }) =>
      call<Page<Item>>(operation, { ...input, query: { ...input.query, cursor: pageParam } }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    maxPages: 5,
  })
}

/** Does an action; afterwards what it changes is read again. */
export function useAction<Answer = undefined>(id: ActionId) {
  const { operation, invalidates } = actions[id]
  const client = useQueryClient()
  return useMutation<Answer, Error, Input>({
    mutationFn: (input) => call<Answer>(operation, input),
    onSuccess: () =>
      Promise.all(
        (invalidates as readonly OperationId[]).map((name) => client.invalidateQueries({ queryKey: [name] })),
      ),
  })
}
