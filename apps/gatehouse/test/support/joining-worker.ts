import { joinSupervisor } from '../../src/process/supervision.ts'

await joinSupervisor()
