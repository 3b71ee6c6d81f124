import { createBatcher } from '@gatehouse/kit'
import type { BucketErrors, Deliveries, MarkedCall } from '../../store/store.ts'

/**
 * Stores which provider is about to be called, where no other provider may be called after one that may have accepted the
 * message: a process that dies before it knows the result can't record it. Marks made at the same time are written
 * together.
 */
export interface CallMarks {
  /** Marks calls; false for those whose delivery is no longer known to be this process's. */
  mark(calls: readonly MarkedCall[]): Promise<readonly boolean[]>
}

const maxBatchSize = 500

/** Creates the marks of a channel's worker. `onFailed` is called with the buckets in which nothing could be marked. */
export function createCallMarks(
  deliveries: Pick<Deliveries, 'markCalled'>,
  onFailed: (failed: BucketErrors) => void,
): CallMarks {
  const marks = createBatcher<MarkedCall, boolean>(
    async (calls) => {
      const { ids, failed } = await deliveries.markCalled(calls)
      if (failed.size > 0) onFailed(failed)
      return calls.map(({ claimed }) => ids.has(claimed.deliveryId))
    },
    { maxBatch: maxBatchSize, concurrency: 1, maxWaiting: Number.POSITIVE_INFINITY },
  )
  return { mark: (calls) => Promise.all(calls.map((each) => marks.add(each))) }
}
