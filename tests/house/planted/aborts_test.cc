// A file whose test ends the program: it must cost no other file its tests.
#include <gtest/gtest.h>

#include <cstdlib>

TEST(PlantedAbortTest, EndsTheProgram) { std::abort(); }
