import { memoryStore } from '@gatehouse/limiter'
import { storeConformance } from '@gatehouse/limiter/conformance'

storeConformance({
  name: 'memory',
  setup: async () => ({ store: memoryStore(), close: async () => {} }),
})
