import { createBatcher } from '@gatehouse/kit'
import type { Deliveries, MarkedCall } from '../../store/store.ts'

/**
 * Stores which provider is about to be called, where no other provider may be called after one that may have accepted the
 * message: a process that dies before it knows the result can't record it. Marks made at the same time are written
 * together.
 */
export interface CallMarks {
  /** Marks calls; false for those whose delivery is no longer claimed by this process. */
  mark(calls: readonly MarkedCall[]): Promise<readonly boolean[]>
}

const maxBatchSize = 500

/** Creates the marks of a channel's worker. */
export function createCallMarks(deliveries: Pick<Deliveries, 'markCalled'>): CallMarks {
  const marks = createBatcher<MarkedCall, boolean>(
    async (calls) => {
      const marked = await deliveries.markCalled(calls)
      return calls.map(({ claimed }) => marked.has(claimed.deliveryId))
    },
    { maxBatch: maxBatchSize, concurrency: 1, maxWaiting: Number.POSITIVE_INFINITY },
  )
  return { mark: (calls) => Promise.all(calls.map((each) => marks.add(each))) }
}
