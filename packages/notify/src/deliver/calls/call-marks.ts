import { createGatherer } from '@gatehouse/kit'
import type { Deliveries, MarkedCall } from '../../store/store.ts'

/**
 * Remembers who is called with what before it is called, where no other provider may be called after one that may have
 * taken it: a process that dies before it knows the answer tells nobody. Those that are marked at once are written together.
 */
export interface CallMarks {
  /** False for those that are their claimer's no longer. */
  mark(calls: readonly MarkedCall[]): Promise<readonly boolean[]>
}

const maxBatchSize = 500

export function createCallMarks(deliveries: Pick<Deliveries, 'markCalled'>): CallMarks {
  const marks = createGatherer<MarkedCall, boolean>(
    async (calls) => {
      const marked = new Set<string>()
      for (const [bucket, mine] of Map.groupBy(calls, ({ claimed }) => claimed.bucket))
        for (const id of await deliveries.markCalled(bucket, mine)) marked.add(id)
      return calls.map(({ claimed }) => marked.has(claimed.deliveryId))
    },
    { most: maxBatchSize, lanes: 1, mostWaiting: Number.POSITIVE_INFINITY },
  )
  return { mark: (calls) => Promise.all(calls.map((each) => marks.do(each))) }
}
