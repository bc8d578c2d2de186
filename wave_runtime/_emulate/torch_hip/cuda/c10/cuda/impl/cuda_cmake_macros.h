// What the build of a torch for GPUs writes. Nothing depends on what it says.
#pragma once
