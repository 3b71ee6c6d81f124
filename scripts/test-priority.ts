/**
 * Loaded before a test file that runs beside timed ones: it and every process that it starts give way to them, so that
 * what those measure is not how busy the machine is.
 */
import { constants, setPriority } from 'node:os'

setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
